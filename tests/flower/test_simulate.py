"""`heteroselect flower simulate`: Ray's actors give the simulator's bits."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from heteroselect.engines.simulate.engine import Simulator
from heteroselect.runs.experiment import prepare
from heteroselect.runs.folder import read_rounds, read_summary
from heteroselect.settings.config import load

pytestmark = [pytest.mark.flower, pytest.mark.slow]


DIGESTS = []


class Noting(Simulator):
    """The simulator, which also notes the SHA-256 of each payload."""

    def train(self, weights, orders, shared):
        uploads = super().train(weights, orders, shared)
        DIGESTS.append({str(one.client): hashlib.sha256(one.payload).hexdigest() for one in uploads})
        return uploads


def test_the_same_selection_payloads_and_model_as_the_simulator(tmp_path: Path, carried):
    out = tmp_path / "run"
    command = [sys.executable, "-m", "heteroselect", "flower", "simulate", "mnist", "--clients", "10", "--rounds", "3"]
    command += ["--set", "data.validation_fraction=0.1", "--set", "data.evaluate=validation"]
    command += ["--set", "selected=4", "--seed", "7", "--out", str(out), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    changes = {"clients": 10, "rounds": 3, "selected": 4, "seed": 7}
    changes |= {"data.validation_fraction": 0.1, "data.evaluate": "validation"}
    mine = carried(experiment=prepare(load("mnist", changes=changes))).simulated(Noting)
    assert read_rounds(out) == mine.rounds
    assert json.loads(done.stdout) == read_summary(out)
    assert read_summary(out)["model_sha256"] == mine.summary["model_sha256"]
    noted = [json.loads(line) for line in (out / "flower.jsonl").read_text().splitlines()]
    assert [line["payloads"] for line in noted] == DIGESTS
    assert [line["troubles"] for line in noted] == [[], [], []]
    assert sorted(path.name for path in out.iterdir()) == [
        "config.toml",
        "fingerprint.json",
        "flower.json",
        "flower.jsonl",
        "model.safetensors",
        "rounds.jsonl",
        "summary.json",
    ]
