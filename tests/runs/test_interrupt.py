"""Ctrl-C: the folder is closed, and then whoever called is told."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import heteroselect
from heteroselect.cli import app
from heteroselect.runs.checkpoint import Checkpoints
from heteroselect.runs.folder import read_rounds, read_summary
from run_folders import POINTS, stop_after

press = stop_after(2, KeyboardInterrupt())


def test_it_reaches_the_caller_after_the_folder_is_closed(here: Path) -> None:
    with pytest.raises(heteroselect.Interrupted) as stopped:
        heteroselect.run("mnist", method="fedavg", settings=POINTS, out=here / "run", watch=press)
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
            table.append(heteroselect.run("mnist", method="fedavg", seed=seed, settings=POINTS, watch=watch).rounds_run)

    with pytest.raises(KeyboardInterrupt):
        sweep()
    assert table == [4]


def test_after_a_resume_progress_counts_from_the_start(here: Path) -> None:
    whole = heteroselect.run("mnist", method="fedavg", settings=POINTS, out=here / "whole")
    with pytest.raises(KeyboardInterrupt):
        heteroselect.run("mnist", method="fedavg", settings=POINTS, out=here / "run", watch=press)
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
    sets = [word for key, value in POINTS.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    words = ["--method", "fedavg", "--out", "run", "--quiet"]
    found = CliRunner().invoke(app, ["run", "mnist", *words, *sets])
    assert found.exit_code == 130
    assert "interrupted after round 0; `heteroselect resume run` continues it" in found.output
    again = CliRunner().invoke(app, ["compare", "mnist", "--methods", "fedavg", "--out", "grid", "--quiet", *sets])
    assert again.exit_code == 130
    assert "the same command continues grid" in again.output
