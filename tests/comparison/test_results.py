"""What a study gave: verdicts beside a paper's figures, and the file of results."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heteroselect import HeteroSelectError
from heteroselect.cli import app
from heteroselect.comparison.figures import figures_of
from heteroselect.comparison.over_seeds import tail
from heteroselect.comparison.results import merge, rounds_file, verdict
from heteroselect.comparison.study import read
from heteroselect.settings.schema import PaperRow

STUDY = """
preset = "mnist"
seeds = [1, 2]
[settings]
clients = 8
selected = 3
rounds = 2
method.solver.steps = 2
target = 0.1
[[row]]
method = "fedavg"
paper = [{ source = "a table", rounds_to_target = 1 }]
[[row]]
name = "slow"
method = "fedavg"
settings = { "method.lr.start" = 1e-6 }
[[claim]]
text = "a rate of nearly zero learns less"
better = "fedavg"
than = "slow"
figure = "peak_accuracy"
"""


def run(row: str, seed: int, **figures: float | None) -> dict:
    empty = dict.fromkeys(("rounds_to_target", "seconds_to_target", "megabytes_to_target", "peak_accuracy"))
    return {"row": row, "seed": seed, **empty, **figures}


@pytest.mark.parametrize(
    ("ours", "theirs", "word"),
    [
        ([4, 6], [5], "reproduced"),
        ([4, 5], [5, 9], "reproduced"),
        ([80], [84], "close"),
        ([60], [83], "different"),
        ([4, None], [4], "different"),
    ],
)
def test_a_verdict_goes_by_the_spread_of_the_seeds(ours, theirs, word) -> None:
    rows = [run("a", seed, rounds_to_target=value) for seed, value in enumerate(ours)]
    assert verdict(rows, [PaperRow(rounds_to_target=value) for value in theirs])[0] == word


def test_the_worst_figure_decides_and_each_is_named() -> None:
    word, why = verdict(
        [run("a", 1, rounds_to_target=83, peak_accuracy=0.71)], [PaperRow(rounds_to_target=83, peak_accuracy=0.7303)]
    )
    assert word == "different"
    assert why == "rounds to target 83 (paper: 83); peak accuracy 71.00% (paper: 73.03%)."
    assert verdict([run("a", 1)], []) == ("", "")


def test_the_tail_is_the_mean_of_the_last_evaluations() -> None:
    lines = [{"accuracy": a} for a in (*[0.1] * 20, None, 0.2, 0.4, None)]
    assert tail(lines, 2) == pytest.approx(0.3)
    assert tail(lines) == pytest.approx(0.18), "five of twenty-two"
    assert tail(lines[15:]) == pytest.approx(0.4), "a quarter of seven, which is one"
    assert tail([]) is None


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_a_study_puts_its_rows_into_a_file_and_replaces_its_own(tmp_path: Path) -> None:
    study, file = tmp_path / "small.toml", tmp_path / "results.json"
    study.write_text(STUDY)
    file.write_text(json.dumps({"runs": [{"study": "other", "row": "x", "seed": 1}], "claims": []}))
    words = ["study", str(study), "--out", str(tmp_path / "runs" / "small"), "--results", str(file)]
    for _ in range(2):
        found = CliRunner().invoke(app, words)
        assert found.exit_code == 0, found.output
    content = json.loads(file.read_text())
    assert [(row["study"], row["row"], row["seed"]) for row in content["runs"]] == [
        ("other", "x", 1),
        ("small", "fedavg", 1),
        ("small", "slow", 1),
        ("small", "fedavg", 2),
        ("small", "slow", 2),
    ]
    first, slow = content["runs"][3], content["runs"][4]
    assert first["verdict"] in ("reproduced", "close", "different")
    assert first["paper"] == [{"source": "a table", "rounds_to_target": 1}]
    assert slow["settings"]["method.lr.start"] == 1e-6
    assert slow["settings"]["rounds"] == 2
    assert slow["decides_by_clock"] == []
    assert slow["seconds_to_target_by_clock"].keys() == {"paper", "uplink", "everything"}
    (claim,) = content["claims"]
    assert claim["change"] > 0.1
    assert claim["text"] in found.output
    assert claim["text"] in (tmp_path / "runs" / "small" / "small.md").read_text()
    assert json.loads((tmp_path / "runs" / "small" / "small.json").read_text())["claims"] == [claim]


def test_a_file_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "notes.json"
    file.write_text("[1]")
    with pytest.raises(HeteroSelectError, match="no file of results"):
        merge(file, {"runs": [], "claims": []})
    study = tmp_path / "small.toml"
    study.write_text(STUDY)
    refused = CliRunner().invoke(app, ["study", str(study), "--out", str(tmp_path / "out"), "--results", str(file)])
    assert isinstance(refused.exception, HeteroSelectError)
    assert not (tmp_path / "out").exists(), "refused before the first run"
    assert file.read_text() == "[1]"


def test_a_claim_about_a_row_that_there_is_not_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(STUDY.replace('than = "slow"', 'than = "fast"'))
    with pytest.raises(HeteroSelectError, match="claim: there is no row 'fast'; name two of 'fedavg', 'slow'"):
        read(path)


def test_rounds_are_kept_beside_the_results_where_the_study_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text("keep_rounds = true\n" + STUDY.replace('name = "slow"', 'name = "very slow, or slower"'))
    Path("s.toml").write_text(Path("s.toml").read_text().replace('than = "slow"', 'than = "very slow, or slower"'))
    found = CliRunner().invoke(app, ["study", "s.toml", "--results", "kept/results.json", "--quiet"])
    assert found.exit_code == 0, found.output
    rows = json.loads(Path("kept/results.json").read_text())["runs"]
    names = sorted(file.name for file in Path("kept/rounds/s").iterdir())
    assert names == [f"{row}-{seed}.jsonl" for row in ("fedavg", "very-slow-or-slower") for seed in (1, 2)]
    for row in rows:
        assert row["provenance"]["threads"] >= 1
        lines = [json.loads(line) for line in rounds_file(Path("kept/results.json"), row).read_text().splitlines()]
        again = figures_of(lines, row["target"])
        assert {key: row[key] for key in again} == again
        summary = json.loads((Path("runs/s") / row["row"] / f"seed-{row['seed']}" / "summary.json").read_text())
        assert {key: again[key] for key in again if key in summary} == {
            key: summary[key] for key in again if key in summary
        }
