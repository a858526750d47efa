"""A server that does not wait, stopped and resumed: uploads in flight are part of a checkpoint."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.numpy import load_file
from torch import nn

import heteroselect
from run_folders import POINTS, PowerError, same, stop_after

pytestmark = pytest.mark.slow  # they train, draw or start processes

SMALL = POINTS | {
    **{"clients": 10, "selected": 4, "rounds": 9, "method.async_mode.size": 3, "world.charge": "everything"},
}
SPARSE = {"method.compress.kind": "topk", "method.error_feedback.kind": "error"}


def run(out: Path, *, after: int = 0, threads: int = 1, **arguments):
    """A run that ends at once after so many steps; 0: a whole one."""
    watch = stop_after(after)
    return heteroselect.run("mnist", method="fedbuff", out=out, watch=watch, threads=threads, **arguments)


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (SPARSE, 1),
        (SPARSE, 8),
        ({"method.async_mode.size": 1, "method.async_mode.mixes": "models"}, 4),
        ({"method.select.kind": "oort", "simulate.checkpoint_rounds": 2}, 5),
        ({"method.select.kind": "divfl", "simulate.store": "disk"}, 3),
        ({"method.downlink.kind": "steps"}, 6),
        (SPARSE | {"world.faults.missing": 0.2, "world.faults.late": 0.2, "world.faults.nan": 0.1}, 5),
        ({"world.attack.kind": "hidden", "world.attack.share": 0.3}, 2),
    ],
    ids=["first", "last", "models", "oort", "disk", "down", "faults", "attack"],
)
def test_stopped_at_any_step_it_goes_on_to_the_same_bits(here: Path, change: dict, after: int) -> None:
    settings = SMALL | change
    run(here / "a", settings=settings)
    with pytest.raises(PowerError):
        run(here / "b", settings=settings, after=after)
    heteroselect.resume(here / "b", threads=2)
    same(here / "a", here / "b")


def test_batch_norm_statistics_of_the_models_in_flight_come_back(here: Path) -> None:
    arguments = {"model": lambda: nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(0.2), nn.Linear(5, 2))}
    run(here / "a", settings=SMALL, **arguments)
    with pytest.raises(PowerError):
        run(here / "b", settings=SMALL, after=5, **arguments)
    heteroselect.resume(here / "b", **arguments)
    same(here / "a", here / "b")


def test_ctrl_c_leaves_those_at_work_in_the_checkpoint_and_every_model_once(here: Path) -> None:
    run(here / "a", settings=SMALL)
    with pytest.raises(heteroselect.Interrupted):
        heteroselect.run(
            "mnist", method="fedbuff", settings=SMALL, out=here / "b", watch=stop_after(6, KeyboardInterrupt())
        )
    arrays = load_file(here / "b" / "checkpoint" / "server-000006.safetensors")
    rounds = arrays["flight.round"].tolist()
    assert 1 <= len(rounds) <= 4
    assert len(set(arrays["flight.client"].tolist())) == len(rounds)
    assert {name for name in arrays if name.startswith("flight.model.")} == {f"flight.model.{t}" for t in rounds}
    heteroselect.resume(here / "b")
    same(here / "a", here / "b")


@pytest.mark.slow
def test_a_killed_process_goes_on_to_the_same_bits(here: Path) -> None:
    """kill -9 in the middle of its steps, twice; each is resumed by a process of its own."""
    settings = SMALL | SPARSE | {"rounds": 40, "method.solver.steps": 40}
    run(here / "a", settings=settings)
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    command = [sys.executable, "-m", "heteroselect"]
    words = [*command, "run", "mnist", "--method", "fedbuff", "--quiet", "--out", "b", *sets]
    log = here / "b" / "rounds.jsonl"
    for steps in (8, 20):
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        limit = time.monotonic() + 600
        while not log.exists() or len(log.read_bytes().splitlines()) < steps:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < limit
            time.sleep(0.005)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "it was to be killed, not to end"
        words = [*command, "resume", "b", "--quiet"]
    last = subprocess.run(words, capture_output=True, text=True)
    assert last.returncode == 0, last.stderr
    same(here / "a", here / "b")
