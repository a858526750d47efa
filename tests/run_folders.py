"""Run folders made by hand, small enough to reckon with."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

from heteroselect.runs.folder import CONFIG, ROUNDS, SUMMARY, read_rounds, read_summary

CLIENTS = 5


def line(t: int, *, seed: int, accuracy: float | None, **changes: Any) -> dict[str, Any]:
    """Round t: two of five clients, 10 s, 1 MB by the paper's count and 2 MB of real bytes."""
    return {
        "round": t,
        "accuracy": accuracy,
        "cumulative_seconds": 10.0 * t + seed,
        "selected": [t % CLIENTS, (t + seed) % CLIENTS if seed % CLIENTS else (t + 1) % CLIENTS],
        "densities": [0.5, 0.25],
        "weights": [0.75, 0.25],
        "bandwidth_mbps": [1.0, 4.0],
        "bytes_up_paper": 1e6,
        "bytes_up": 2_000_000,
        "bytes_down": 3_000_000,
        "bytes_scoring": 4_000_000,
        "bytes_calibration": 0,
        "score_parts": {"loss": 0.1 * t, "diversity": 0.5, "fairness": 0.0, "staleness": 1.0},
        **changes,
    }


NOTE = {
    "available": 3,
    "there": "b0",  # clients 0, 2 and 3 of five
    "up_mbps": [1.0, 2.0, 3.0, 4.0, 5.0],
    "down_mbps": [5.0, 6.0, 7.0, 8.0, 9.0],
    "step_seconds": [0.1, 0.2, 0.3, 0.4, 0.5],
    "waited": 1.0,
    "scoring": 2.0,
    "training": 10.0,
    "calibration": 0.5,
    "down": [1.0, 0.0],
    "compute": [5.0, 2.0],
    "up": [4.0, 2.0],
    "took": [10.0, 4.0],
}
"""What a round notes of the world."""

POINTS = {
    **{"clients": 6, "selected": 2, "rounds": 4, "data.partition": "iid", "target": 0.5, "data.name": "points.npz"},
    **{"method.solver.steps": 2, "simulate.checkpoint_rounds": 1},
}
"""Settings of a run on a few points of a file, which takes tenths of a second."""


def write_points(folder: Path) -> None:
    """The file of these points."""
    rng = np.random.default_rng(0)
    np.savez(folder / "points.npz", x=rng.normal(size=(60, 4)).astype(np.float32), y=rng.integers(0, 2, 60))


class PowerError(Exception):
    """The run is stopped from within, as if the power had failed."""


def stop_after(last: int, error: BaseException | None = None) -> Callable[[dict[str, Any]], None]:
    """Watches a run, and stops it after this round, without a chance to tidy up unless the error gives it one."""

    def watch(line: dict[str, Any]) -> None:
        if line["round"] == last:
            raise error or PowerError

    return watch


stop = stop_after(3)


def same(a: Path, b: Path) -> None:
    """Two folders hold one run: everything is equal but the wall time and the number of threads."""
    assert read_rounds(a) == read_rounds(b)
    first, second = read_summary(a), read_summary(b)
    for summary in (first, second):
        del summary["wall_seconds"], summary["environment"]
    assert first == second
    assert (a / "model.safetensors").read_bytes() == (b / "model.safetensors").read_bytes()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the test works in, with the points in it."""
    monkeypatch.chdir(tmp_path)
    write_points(tmp_path)
    return tmp_path


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Write a run folder; `each` changes every round's line, `settings` and `summary` their files."""

    def make(
        name: str,
        *,
        method: str = "ours",
        seed: int = 1,
        accuracies: tuple[float | None, ...] = (0.5, 0.7, 0.9, 0.95),
        settings: dict[str, Any] | None = None,
        summary: dict[str, Any] | None = None,
        each: dict[str, Any] | None = None,
        paper: bool = True,
    ) -> Path:
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        rounds = [line(t, seed=seed, accuracy=a, **(each or {})) for t, a in enumerate(accuracies, start=1)]
        reached = next((one["round"] for one in rounds if one["accuracy"] is not None and one["accuracy"] >= 0.9), None)
        config: dict[str, Any] = {"clients": CLIENTS, "selected": 2, "seed": seed, "method": {"name": method}}
        if paper:
            row = {"source": "Table I", "rounds_to_target": 5, "seconds_to_target": 42.0, "megabytes_to_target": 6.1}
            config["paper"] = [row]
        evaluated = [a for a in accuracies if a is not None]
        found = {
            "method": method,
            "dataset": "points",
            "seed": seed,
            "target": 0.9,
            "peak_accuracy": max(evaluated, default=None),
            "final_accuracy": evaluated[-1] if evaluated else None,
            "rounds_to_target": reached,
            "seconds_to_target": 10.0 * reached + seed if reached else None,
            "megabytes_to_target": 1.0 * reached if reached else None,
            "wire_megabytes_to_target": 2.0 * reached if reached else None,
            "environment": {"python": "3.11", "device": "cpu"},
        }
        (folder / CONFIG).write_text(tomli_w.dumps(config | (settings or {})))
        (folder / SUMMARY).write_text(json.dumps(found | (summary or {})))
        (folder / ROUNDS).write_text("".join(json.dumps(one) + "\n" for one in rounds))
        return folder

    return make
