"""A run beside the authors' log: the right rounds, the right means, and a verdict."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heteroselect.cli import app
from heteroselect.errors import HeteroSelectError
from heteroselect.paper import compare_log as against


def log(tmp_path: Path, shift: float = 0.0) -> Path:
    rounds = [
        {
            "round": t,
            "test_acc": 0.1 * t,
            "losses_mean": 2 - 0.1 * t + shift,
            "score_D_mean": 0.5,
            "score_F_mean": 0.2,
            "score_St_mean": 0.7,
        }
        for t in range(1, 11)
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"config": {}, "fl_config": {}, "summary": {}, "rounds": rounds}))
    return path


def lines(rounds: int = 5) -> list[dict]:
    parts = {"loss": 0.3, "diversity": 0.52, "fairness": 0.21, "staleness": 0.68}
    return [
        {"round": t, "accuracy": 0.1 * t + 0.02, "loss_mean": 2 - 0.1 * t, "score_parts": parts}
        for t in range(1, rounds + 1)
    ]


def folder(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    run.mkdir()
    (run / "rounds.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines()))
    return run


def test_by_hand(tmp_path: Path) -> None:
    rows = against.compare(against.ours(lines()), against.theirs(log(tmp_path)), [2, 5])
    first = rows[0]
    # the last two of five rounds: mean of 0.42 and 0.52 against 0.4 and 0.5
    assert (first.quantity, first.rounds) == ("test accuracy, mean", "4 to 5")
    assert (first.ours, first.theirs) == pytest.approx((0.47, 0.45))
    assert [(row.quantity, row.rounds) for row in rows[1:3]] == [
        ("mean loss of all clients", "2"),
        ("mean loss of all clients", "5"),
    ]
    assert all(row.within for row in rows)
    assert len(rows) == 1 + 4 * 2


def test_what_is_beyond_the_allowed_is_marked(tmp_path: Path) -> None:
    rows = against.compare(against.ours(lines()), against.theirs(log(tmp_path, shift=0.2)), [5])
    assert [row.quantity for row in rows if not row.within] == ["mean loss of all clients"]
    assert against.markdown(rows).count("**beyond**") == 1


def test_rounds_that_one_side_lacks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HeteroSelectError, match="from 1 to 5, not 7"):
        against.compare(against.ours(lines()), against.theirs(log(tmp_path)), [7])
    with pytest.raises(HeteroSelectError, match="no round in common"):
        against.compare(against.ours([]), against.theirs(log(tmp_path)))


@pytest.mark.slow
def test_the_command_writes_a_table_and_a_picture(tmp_path: Path) -> None:
    words = ["paper", "compare-log", str(folder(tmp_path)), str(log(tmp_path)), "--out", str(tmp_path / "docs")]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    text = (tmp_path / "docs" / "compare-log.md").read_text()
    assert text.startswith("Made by `heteroselect paper compare-log run log.json`.")
    assert "| staleness, mean | 5 | 0.680 | 0.700 | -0.020 | 0.05 |" in text
    assert (tmp_path / "docs" / "compare-log.svg").read_text().lstrip().startswith("<?xml")
    log(tmp_path, shift=0.2)
    assert CliRunner().invoke(app, words).exit_code == 1


def test_a_log_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"config": {}, "fl_config": {}, "summary": {}, "rounds": [{"round": 1}]}))
    with pytest.raises(HeteroSelectError, match="authors' format"):
        against.theirs(path)
