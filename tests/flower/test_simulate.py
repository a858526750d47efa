"""`heteroselect flower simulate`: Ray's actors give the simulator's bits."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from heteroselect.runs.api import settings_of
from heteroselect.runs.experiment import prepare
from heteroselect.runs.folder import read_rounds, read_summary
from heteroselect.runs.loop import play
from heteroselect.simulate.engine import Simulator

pytestmark = [pytest.mark.flower, pytest.mark.slow]


class Noting(Simulator):
    """The simulator, which also notes the SHA-256 of each payload."""

    def train(self, weights, orders, *more):
        uploads = super().train(weights, orders, *more)
        self.digests.append({str(one.client): hashlib.sha256(one.payload).hexdigest() for one in uploads})
        return uploads


def simulated(**changes):
    """The simulator's run, and its payloads."""
    experiment, digests = prepare(settings_of("mnist", changes=changes)), []

    def stage(progress):
        engine = Noting(
            experiment.module,
            experiment.clients(),
            experiment.federation.test,
            experiment.task,
            experiment.method,
            experiment.metric,
            kept=progress.kept,
            streams=experiment.streams,
        )
        engine.digests = digests
        return engine

    return play(experiment, None, threads=1, stage=stage), digests


def test_the_same_selection_payloads_and_model_as_the_simulator(tmp_path: Path):
    out = tmp_path / "run"
    command = [sys.executable, "-m", "heteroselect", "flower", "simulate", "mnist", "--clients", "10", "--rounds", "3"]
    command += ["--set", "selected=4", "--seed", "7", "--out", str(out), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    mine, digests = simulated(clients=10, rounds=3, selected=4, seed=7)
    assert read_rounds(out) == mine.rounds
    assert json.loads(done.stdout) == read_summary(out)
    assert read_summary(out)["model_sha256"] == mine.summary["model_sha256"]
    noted = [json.loads(line) for line in (out / "flower.jsonl").read_text().splitlines()]
    assert [line["payloads"] for line in noted] == digests
    assert [line["troubles"] for line in noted] == [[], [], []]
    assert sorted(path.name for path in out.iterdir()) == [
        "config.toml",
        "flower.json",
        "flower.jsonl",
        "model.safetensors",
        "rounds.jsonl",
        "summary.json",
    ]
