"""A run folder may come from anybody: nothing outside it is changed, and nothing in it is believed unseen."""

import csv
import hashlib
import io
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import heteroselect
from heteroselect import HeteroSelectError, files
from heteroselect.cli import app
from heteroselect.comparison import cross_table, table_files
from heteroselect.comparison.report import curves
from heteroselect.comparison.report.load import compare
from heteroselect.runs.folder import RunFolder, read_rounds
from heteroselect.runs.guard import locked
from run_folders import POINTS, PowerError, stop

pytestmark = pytest.mark.slow  # they train, draw or start processes


def broken_off(out: Path, **settings: Any) -> Path:
    with pytest.raises(PowerError):
        heteroselect.run("mnist", method="fedavg", settings={**POINTS, **settings}, out=out, watch=stop)
    return out


@pytest.fixture
def precious(here: Path) -> Path:
    """A folder outside that nobody may touch, with names in it that a run would write."""
    folder = here / "precious"
    folder.mkdir()
    names = ("thesis.txt", "server-000001.safetensors", "manifest-000001.json", "0-residual.npy")
    for name in names:
        (folder / name).write_text("mine")
    return folder


def as_it_was(folder: Path) -> bool:
    return len(list(folder.iterdir())) == 4 and all(file.read_text() == "mine" for file in folder.iterdir())


@pytest.mark.parametrize(
    ("name", "target"),
    [
        *[(name, "") for name in ("checkpoint", "store", "flower", "memory")],
        *[(name, "thesis.txt") for name in ("rounds.jsonl", ".summary.json.partial", "checkpoint/x")],
    ],
)
def test_a_link_is_refused_and_its_target_is_left_alone(here: Path, precious: Path, name: str, target: str) -> None:
    out = broken_off(here / "run")
    if (out / name).exists():
        (out / name).rename(here / "moved")
    (out / name).symlink_to(precious / target)
    with pytest.raises(HeteroSelectError, match=f"{name} is a link"):
        heteroselect.resume(out)
    assert as_it_was(precious)


def test_a_link_in_the_place_of_a_part_of_a_file_is_not_written_through(here: Path, precious: Path) -> None:
    out = here / "run"
    out.mkdir()
    for name in (".config.toml.partial", ".summary.json.partial", ".fingerprint.json.partial"):
        (out / name).symlink_to(precious / "thesis.txt")
    heteroselect.run("mnist", method="fedavg", settings=POINTS, out=out)
    assert as_it_was(precious)
    assert json.loads((out / "summary.json").read_text())["status"] == "finished"


def test_a_finished_run_with_a_link_is_not_tidied_up(here: Path, precious: Path) -> None:
    out = here / "run"
    heteroselect.run("mnist", method="fedavg", settings=POINTS, out=out)
    (out / "checkpoint").symlink_to(precious)
    with pytest.raises(HeteroSelectError, match="checkpoint is a link"):
        heteroselect.resume(out)
    assert as_it_was(precious)


def test_a_folder_that_is_itself_reached_by_a_link_is_fine(here: Path) -> None:
    out = broken_off(here / "run")
    (here / "link").symlink_to(out)
    assert heteroselect.resume(here / "link").status == "finished"


def polished(out: Path, round: int) -> None:
    """Change the accuracy of a round in the log."""
    lines = [json.loads(text) for text in (out / "rounds.jsonl").read_text().splitlines()]
    lines[round - 1]["accuracy"] = 0.999
    (out / "rounds.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_an_edited_line_does_not_enter_the_summary(here: Path) -> None:
    straight = heteroselect.run("mnist", method="fedavg", settings=POINTS, out=here / "straight")
    out, warned = broken_off(here / "run"), []
    polished(out, 2)  # the checkpoint after round 1 still fits
    resumed = heteroselect.resume(out, warn=warned.append)
    assert ["round 2 is damaged" in text and "not those that were played" in text for text in warned] == [True]
    assert resumed.peak_accuracy == straight.peak_accuracy < 0.999
    assert read_rounds(out) == straight.rounds
    assert resumed.summary["rounds_sha256"] == straight.summary["rounds_sha256"]


def test_an_edited_line_of_a_finished_run_is_neither_shown_nor_reported(here: Path) -> None:
    out = here / "run"
    heteroselect.run("mnist", method="fedavg", settings=POINTS, out=out)
    polished(out, 4)
    for read in (lambda: compare([out]), lambda: read_rounds(out), lambda: heteroselect.resume(out)):
        with pytest.raises(HeteroSelectError, match="its lines are not those of the run"):
            read()


def test_of_two_runs_in_one_place_the_second_writes_nothing(here: Path) -> None:
    """It may have found the folder empty before the first wrote into it; the first holds the lock."""
    out = here / "run"
    out.mkdir()
    with locked(out), pytest.raises(HeteroSelectError, match=r"^out: another process is at work"):
        heteroselect.run("mnist", method="fedavg", settings=POINTS, out=out)
    assert list(out.iterdir()) == []


DEEP = 100_000


def signed(content: object) -> str:
    """A manifest whose digest is right."""
    text = json.dumps(content)
    return json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "content": text})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.toml", "a = " + "[" * DEEP + "]" * DEEP),
        ("config.toml", "[" + ".".join("a" * 500) + "]\nb = 1"),
        ("summary.json", "[" * DEEP + "]" * DEEP),
        ("summary.json", '{"a":' * 500 + "1" + "}" * 500),
        ("rounds.jsonl", "[" * DEEP + "]" * DEEP + "\n"),
        ("fingerprint.json", "[" * DEEP + "]" * DEEP),
        ("summary.json", " " * 5_000_000 + "{}"),
        ("rounds.jsonl", " " * 9_000_000),
    ],
)
def test_what_is_nested_without_end_or_far_too_long_is_one_sentence(here: Path, name: str, content: str) -> None:
    out = here / "run"
    heteroselect.run("mnist", method="fedavg", settings=POINTS, out=out)
    (out / name).write_text(content)
    with pytest.raises(HeteroSelectError, match=r"damaged|too long") as caught:
        compare([out])
    assert name in str(caught.value)
    with pytest.raises(HeteroSelectError):
        CliRunner().invoke(app, ["show", str(out)], catch_exceptions=False)
    if name in ("config.toml", "fingerprint.json"):
        with pytest.raises(HeteroSelectError):
            heteroselect.resume(out)


def test_a_log_that_does_not_fit_into_memory_is_refused_before_it_is_read(here: Path, monkeypatch) -> None:
    out = here / "run"
    heteroselect.run("mnist", method="fedavg", settings=POINTS, out=out)
    monkeypatch.setattr(files, "memory", lambda: 10**6)
    with (out / "rounds.jsonl").open("ab") as log:
        log.truncate(70_000)  # without taking room on the disk
    with pytest.raises(HeteroSelectError, match=r"too long .* has 70,000 bytes, and 62,500 are read"):
        compare([out])


def test_a_long_log_of_our_own_is_read(tmp_path: Path) -> None:
    """Of many clients: 65 MB in 20 rounds."""
    folder = RunFolder.create(tmp_path / "run", "")
    for number in range(1, 21):
        folder.add_round({"round": number, "scores": [0.5] * 650_000})
    folder.close()
    assert (tmp_path / "run" / "rounds.jsonl").stat().st_size > 64_000_000
    assert [line["round"] for line in read_rounds(tmp_path / "run", {"round"})] == list(range(1, 21))


def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(here: Path) -> None:
    out = here / "run"
    heteroselect.run("mnist", method="fedavg", settings=POINTS, out=out)
    (out / "summary.json").unlink()
    os.mkfifo(out / "summary.json")
    with pytest.raises(HeteroSelectError, match="has not finished"):
        compare([out])


def test_a_pipe_that_the_settings_name_keeps_nobody_waiting(here: Path) -> None:
    (here / "there.csv").write_text("client,start,end\n0,0,100000\n")
    settings = {"world.availability.kind": "file", "world.availability.file": str(here / "there.csv")}
    out = broken_off(here / "run", **settings)
    (here / "there.csv").unlink()
    os.mkfifo(here / "there.csv")
    with pytest.raises(HeteroSelectError, match=r"there\.csv.*it is no file"):
        heteroselect.resume(out)


@pytest.mark.parametrize(
    "content", ["[" * DEEP, "{}", "[]", '{"sha256": "", "content": 3}', signed({"version": 3}), signed({})]
)
def test_a_manifest_that_cannot_be_read_does_not_keep_from_the_older_checkpoint(here: Path, content: str) -> None:
    out, warned, seen = broken_off(here / "run"), [], []
    (out / "checkpoint" / "manifest-000002.json").write_text(content)
    heteroselect.resume(out, warn=warned.append, watch=lambda line: seen.append(line["round"]))
    assert ["round 2 is damaged" in text for text in warned] == [True]
    assert seen == [2, 3, 4]


@pytest.mark.parametrize("name", ["manifest-000002.json", "server-000002.safetensors"])
@pytest.mark.parametrize("kind", ["pipe", "huge"])
def test_what_is_no_file_of_a_checkpoint_keeps_nobody_waiting(here: Path, name: str, kind: str) -> None:
    """A pipe that nobody writes to, and a file of 10¹² bytes that takes no room."""
    out, warned = broken_off(here / "run"), []
    (out / "checkpoint" / name).unlink()
    if kind == "pipe":
        os.mkfifo(out / "checkpoint" / name)
    else:
        with (out / "checkpoint" / name).open("wb") as file:
            file.truncate(10**12)
    heteroselect.resume(out, warn=warned.append)
    assert ["round 2 is damaged" in text for text in warned] == [True]


def test_names_of_checkpoints_that_are_none_are_passed_over(here: Path) -> None:
    out = broken_off(here / "run")
    for name in ("manifest-²²²²²².json", "manifest-x.json", "manifest-1.json", "manifest-" + "9" * 200 + ".json"):
        (out / "checkpoint" / name).write_text("{}")
    assert heteroselect.resume(out).status == "finished"


def test_a_name_that_looks_like_markup_is_shown_as_it_is(here: Path) -> None:
    out = here / "run"
    heteroselect.run("mnist", method=heteroselect.Method("[/x]"), settings=POINTS, out=out)
    assert "[/x] on points.npz" in CliRunner().invoke(app, ["show", str(out)], catch_exceptions=False).output
    found = CliRunner().invoke(app, ["reclock", str(out)], catch_exceptions=False)
    assert "[/x]" in found.output


def test_a_page_of_many_rounds_is_thinned() -> None:
    lines = [{"round": t, "accuracy": 0.9 if t == 777 else 0.5, "selected": [0]} for t in range(1, 3_001)]
    band = curves.band([curves.accuracy(lines)])
    assert len(band.x) == 3_000
    thin = curves.thinned(band)
    assert len(thin.x) <= curves.POINTS
    assert (thin.x[0], thin.x[-1]) == (1, 3_000)
    assert thin.mean[list(thin.x).index(777)] == 0.9, "a spike is kept"
    assert curves.thinned(thin) is thin


@pytest.mark.parametrize(
    ("cell", "shown"),
    [("=1+1", "'=1+1"), ("@a", "'@a"), ("-x", "'-x"), ("+x", "'+x"), ("a", "a"), (-0.5, -0.5), (None, None)],
)
def test_a_cell_is_no_formula(cell: object, shown: object) -> None:
    assert table_files.as_text(cell) == shown


def test_no_cell_of_a_cross_is_a_formula() -> None:
    crossing: Any = SimpleNamespace(
        axes={"=axis": ["=1+1"], "b": ["x"]},
        levels=[["=1+1"], ["x"]],
        cells={(0, 0): []},
        refused={(0, 0): "@reason"},
        runs={},
        seeds=(42,),
    )
    head, line = csv.reader(io.StringIO(cross_table._csv(crossing)))
    assert (head[0], line[:2], line[-1]) == ("'=axis", ["'=1+1", "x"], "'@reason")
