"""The comparison: one grid, one clock, and figures that can be checked by hand."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from commands import call, sets
from heteroselect import HeteroSelectError, methods
from heteroselect.comparison.grid import clocked
from heteroselect.parts.kinds import KINDS
from heteroselect.runs.folder import read_rounds

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_pictures")]  # whole runs

SMALL = {"clients": 10, "selected": 3, "rounds": 4, "method.solver.steps": 3, "target": 0.5}
METHODS = "heteroselect,heteroselect-as-run,fedavg,fedcg"


def words(out: Path, *more: str) -> list[object]:
    return ["compare", "mnist", "--methods", METHODS, "--seeds", "1,2", "--out", out, *sets(SMALL), *more]


@pytest.fixture(scope="module")
def compared(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("grid") / "out"
    found = call(*words(out))
    assert found.exit_code == 0, found.output
    assert "fedcg*" in found.output
    assert "reconstruction" in found.output
    return out


def test_the_files_say_the_same(compared: Path) -> None:
    content = json.loads((compared / "compare.json").read_text())
    assert [(run["method"], run["seed"]) for run in content["runs"]] == [
        (method, seed) for method in METHODS.split(",") for seed in (1, 2)
    ]
    with (compared / "compare.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["model_sha256"] for row in table] == [run["model_sha256"] for run in content["runs"]]
    assert [run["reconstruction"] for run in content["runs"][::2]] == [False, False, False, True]
    page, notes = (compared / "compare.md").read_text(), content["footnotes"]
    assert "fedcg*" in page
    assert all(f"{note}." in page for note in notes)
    assert sum("heteroselect-as-run runs without data.variant = authors" in note for note in notes) == 1
    assert sum(note.startswith("fedavg leaves out") for note in notes) == 1
    assert not any(note.startswith(("stc", "heteroselect runs")) for note in notes)
    assert (compared / "figures" / "accuracy.pdf").is_file()
    assert content["clocks"] == ["everything"]
    for name in ("compare.md", "compare.tex", "report.html"):
        assert "The clock (everything) counts downloads, real payloads" in (compared / name).read_text()


@pytest.mark.parametrize(
    ("name", "whole"),
    [("fedavg", True), ("heteroselect", True), ("stc", False), ("drive", False), ("fedpaq", False), ("dgc", True)],
)
def test_which_methods_send_float32(name: str, whole: bool) -> None:
    assert methods.get(name).sends_float32 is whole
    assert not replace(methods.get("fedavg"), name="mine", quantize=KINDS["quantize"]["float16"]()).sends_float32


def test_a_seed_shares_partition_links_and_devices(compared: Path) -> None:
    """Also with the method that would deal the data as its authors did."""
    links = {}
    for method in METHODS.split(","):
        config = (compared / method / "seed-1" / "config.toml").read_text()
        assert 'variant = "disjoint"' in config
        assert 'charge = "everything"' in config
        for line in read_rounds(compared / method / "seed-1"):
            for client, mbps in zip(line["selected"], line["bandwidth_mbps"], strict=True):
                assert links.setdefault((line["round"], client), mbps) == mbps


def test_a_grid_is_gone_on_with_and_nothing_is_run_twice(compared: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in compared.rglob("rounds.jsonl")}
    victim = compared / "fedavg" / "seed-2"
    kept = (victim / "summary.json").read_bytes()
    (victim / "summary.json").unlink()  # as if it had been killed before its end
    found = call(*words(compared))
    assert found.exit_code == 0, found.output
    assert found.output.count("was there") == 7
    changed = [path for path, stamp in before.items() if path.stat().st_mtime_ns != stamp]
    assert changed == [victim / "rounds.jsonl"]
    assert json.loads(kept)["model_sha256"] == json.loads((victim / "summary.json").read_text())["model_sha256"]


def test_a_comparison_is_added_to_and_none_of_it_is_taken_away(compared: Path) -> None:
    before = {path: path.read_bytes() for path in compared.glob("compare.*")}
    for fewer in (["--methods", "fedavg,fedavgm"], ["--seeds", "1"]):
        found = call(*words(compared, *fewer))
        assert isinstance(found.exception, HeteroSelectError)
        assert "compare.md has the rows heteroselect, heteroselect-as-run, fedavg, fedcg" in str(found.exception)
        assert "with the seeds 1, 2, some of which would be lost; ask" in str(found.exception)
    assert before == {path: path.read_bytes() for path in compared.glob("compare.*")}
    assert not (compared / "fedavgm").exists()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (["--methods", "fedavg,fedavg"], "each once"),
        (["--methods", ","], "one or more names"),
        (["--seeds", "1,1"], "each once"),
        (["--seeds", "one"], "whole numbers with commas"),
        (["--methods", "magic"], "there is no method 'magic'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, change: list[str], sentence: str) -> None:
    found = call("compare", "mnist", "--methods", "fedavg", "--out", tmp_path / "x", *change)
    assert isinstance(found.exception, HeteroSelectError)
    assert sentence in str(found.exception)
    assert not (tmp_path / "x").exists()


def test_nobody_elses_files_are_replaced_and_that_is_said_before_anything_is_played(tmp_path: Path) -> None:
    no = "no report"
    for name, words_ in (
        ("config.toml", "holds a run"),
        ("compare.md", no),
        ("report.html", no),
        ("compare.csv", no),
        ("compare.tex", no),
    ):
        folder = tmp_path / f"for {name}"
        folder.mkdir()
        (folder / name).write_text("mine")
        found = call(*words(folder))
        assert isinstance(found.exception, HeteroSelectError), name
        assert words_ in str(found.exception)
        assert [path.name for path in folder.iterdir()] == [name]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["--charge", "paper"], "(world.charge: everything → paper); name a new folder, or give --charge everything"),
        (["--set", "world.charge=paper"], "name a new folder, or give --charge everything"),
        (["--set", "rounds=5"], "holds a run with other settings (rounds: 4 → 5)"),
    ],
)
def test_other_settings_or_another_clock_in_the_same_folder_are_refused(compared: Path, asked, sentence: str) -> None:
    assert sentence in str(call(*words(compared, *asked)).exception)


def test_one_clock_is_asked_for_once(tmp_path: Path) -> None:
    assert clocked({}, None) == {"world.charge": "everything"}
    assert clocked({"world.charge": "uplink"}, None) == {"world.charge": "uplink"}
    found = call(*words(tmp_path / "x", "--charge", "paper", "--set", "world.charge=uplink"))
    assert "--charge: world.charge is set too" in str(found.exception)
    found = call(*words(tmp_path / "x", "--charge", "nothing"))
    assert "world.charge: allowed is paper, uplink or everything, not 'nothing'" in str(found.exception)
