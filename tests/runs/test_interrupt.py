"""Ctrl-C: the folder is closed, and then whoever called is told."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import heteroselect
from heteroselect.cli import app
from heteroselect.runs.checkpoint import Checkpoints
from heteroselect.runs.folder import read_rounds, read_summary

SMALL = {
    **{"clients": 6, "selected": 2, "rounds": 4, "data.partition": "iid", "target": 0.5, "data.name": "points.npz"},
    **{"method.solver.steps": 2, "simulate.checkpoint_rounds": 1},
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "points.npz", x=rng.normal(size=(60, 4)).astype(np.float32), y=rng.integers(0, 2, 60))
    return tmp_path


def press(line: dict[str, Any]) -> None:
    if line["round"] == 2:
        raise KeyboardInterrupt


def test_it_reaches_the_caller_after_the_folder_is_closed(here: Path) -> None:
    with pytest.raises(heteroselect.Interrupted) as stopped:
        heteroselect.run("mnist", method="fedavg", settings=SMALL, out=here / "run", watch=press)
    assert isinstance(stopped.value, KeyboardInterrupt)
    assert stopped.value.result.summary == read_summary(here / "run")
    assert read_summary(here / "run")["status"] == "interrupted"
    assert Checkpoints(here / "run").rounds()[0] == len(read_rounds(here / "run")) == 2
    assert heteroselect.resume(here / "run").rounds_run == 4


def test_a_sweep_can_be_stopped_and_half_a_run_is_not_in_its_table(here: Path) -> None:
    table = []

    def sweep() -> None:
        for seed in (1, 2, 3):
            watch = press if seed == 2 else None
            table.append(heteroselect.run("mnist", method="fedavg", seed=seed, settings=SMALL, watch=watch).rounds_run)

    with pytest.raises(KeyboardInterrupt):
        sweep()
    assert table == [4]


def test_after_a_resume_progress_counts_from_the_start(here: Path) -> None:
    whole = heteroselect.run("mnist", method="fedavg", settings=SMALL, out=here / "whole")
    with pytest.raises(KeyboardInterrupt):
        heteroselect.run("mnist", method="fedavg", settings=SMALL, out=here / "run", watch=press)
    found = CliRunner().invoke(app, ["resume", "run"])
    assert found.exit_code == 0, found.output
    lines = re.findall(r"round (\d+)/4 .* ([\d.]+) (kB|MB) sent", found.output)
    shown = {int(t): float(sent) / (1 if unit == "MB" else 1000) for t, sent, unit in lines}
    sent = np.cumsum([line["bytes_up"] for line in whole.rounds]) / 1e6
    assert shown == {t: pytest.approx(sent[t - 1], abs=0.0051) for t in (3, 4)}


def test_the_command_line_keeps_its_sentence_and_exit_code(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("heteroselect.runs.loop.play_round", stop)
    sets = [word for key, value in SMALL.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    words = ["--method", "fedavg", "--out", "run", "--quiet"]
    found = CliRunner().invoke(app, ["run", "mnist", *words, *sets])
    assert found.exit_code == 130
    assert "interrupted after round 0; `heteroselect resume run` continues it" in found.output
    again = CliRunner().invoke(app, ["compare", "mnist", "--methods", "fedavg", "--out", "grid", "--quiet", *sets])
    assert again.exit_code == 130
    assert "the same command continues grid" in again.output
