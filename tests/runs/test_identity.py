"""A run goes on as what it is: nothing of it is swapped without a word."""

import os
import signal
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import heteroselect
from heteroselect import HeteroSelectError, Method
from heteroselect.core.conditions import Conditions
from heteroselect.core.part import kind_of, values
from heteroselect.parts.score import Scores
from heteroselect.parts.select import Oort, PowerOfChoice
from heteroselect.parts.train import SGD
from heteroselect.runs.loop import defer_signals
from heteroselect.world import DrawnWorld
from run_folders import PowerError, stop_after

pytestmark = pytest.mark.slow  # whole runs


@pytest.fixture(autouse=True)
def as_a_matrix(monkeypatch):
    """Clients train as a matrix from the first round on, which a short run would not find worthwhile."""
    monkeypatch.setattr("heteroselect.engines.simulate.engine.WORTHWHILE", 0)


SMALL = {"clients": 6, "selected": 2, "rounds": 3, "method.solver.steps": 2, "simulate.checkpoint_rounds": 1}
MINE = """
import numpy as np


class First:
    def select(self, scores, context):
        return context.cohort(np.arange(context.size))


class Plain:
    def step(self, state, aggregate):
        return {}, aggregate


class Last:
    def select(self, scores, context):
        return context.cohort(np.arange(len(context.ids))[-context.size :])
"""


def broken_off(out, **more: Any) -> None:
    settings = {**SMALL, **more.pop("settings", {})}
    with pytest.raises(PowerError):
        heteroselect.run("mnist", method="fedavg", settings=settings, out=out, watch=stop_after(2), **more)


def test_a_run_does_not_go_on_with_another_part(tmp_path):
    file, out = tmp_path / "mine.py", tmp_path / "run"
    file.write_text(MINE)
    broken_off(out, settings={"method.select.kind": f"{file}:First"})
    first = {"method.select.kind": f"{file}:First"}
    with pytest.raises(HeteroSelectError, match=r"begun with other settings.*method\.select\.kind: "):
        heteroselect.resume(out, settings={"method.select.kind": f"{file}:Last"})
    with pytest.raises(HeteroSelectError, match=r"begun with other settings.*method\.server_optimizer\.kind: "):
        heteroselect.resume(out, settings={**first, "method.server_optimizer.kind": f"{file}:Plain"})
    moved = tmp_path / "elsewhere.py"
    file.rename(moved)
    assert heteroselect.resume(out, settings={"method.select.kind": f"{moved}:First"}).status == "finished"


def test_a_run_in_a_world_of_ones_own_goes_on_only_with_one(tmp_path):
    broken_off(tmp_path / "run", world=DrawnWorld())
    with pytest.raises(HeteroSelectError, match=r"world\.links: \"own\""):
        heteroselect.resume(tmp_path / "run")
    with pytest.raises(HeteroSelectError, match=r"world\.links: \"own\""):
        heteroselect.run(tmp_path / "run" / "config.toml")
    assert heteroselect.resume(tmp_path / "run", world=DrawnWorld()).status == "finished"


@pytest.mark.parametrize("changes", [{"method": "fedavg"}, {"method.name": "oort"}])
def test_a_method_is_named_in_one_place(changes):
    method = None if "method" in changes else "fedavg"
    with pytest.raises(HeteroSelectError, match="method"):
        heteroselect.load("mnist", method=method, changes=changes)


@dataclass(frozen=True)
class Never:
    """Clients that were never selected come first."""

    batches = 8
    augmented = False

    def asks(self, context):
        return context.ids[:0]

    def score(self, context):
        total = np.where(context.population.counts == 0, np.inf, 0.0)
        return Scores(context.ids, total, {"new": total})


def test_an_infinite_score_can_be_written_down(tmp_path):
    method = Method("new-first", score=Never(), select=PowerOfChoice())
    result = heteroselect.run("mnist", method=method, settings=SMALL, out=tmp_path / "run")
    assert sorted(client for line in result.rounds for client in line["selected"]) == list(range(6))
    assert result.rounds[0]["scores"] == [None, None]


def test_a_part_that_is_made_from_a_shipped_one_has_a_kind_of_its_own():
    @dataclass(frozen=True)
    class Mine(Oort):
        """Another Oort."""

    assert kind_of(Mine()) == "own:Mine"


def test_numbers_of_numpy_are_written_as_numbers():
    assert type(values(SGD(steps=np.int64(5)))["steps"]) is int


def interrupted(reached: list[bool], error: Exception | None = None) -> None:
    with defer_signals():
        os.kill(os.getpid(), signal.SIGINT)
        reached.append(True)
        if error:
            raise error


@pytest.fixture
def interruptible():
    """Ctrl-C as on a terminal: a process that was started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_signal_waits_for_the_end_and_is_not_delivered_after_an_error():
    reached: list[bool] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(reached)
    assert reached
    with pytest.raises(PowerError):
        interrupted(reached, PowerError())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"up": np.ones(3)}, "up must have one entry for each of 6 clients"),
        ({"up": np.zeros(6)}, "up must be finite and > 0"),
        ({"step_seconds": np.full(6, np.nan)}, "step_seconds must be finite"),
    ],
)
def test_a_world_that_answers_wrongly_is_named(changes, sentence):
    class Wrong:
        def conditions(self, round, now, clients, losses, streams):
            whole = {"up": np.ones(6), "down": np.ones(6), "step_seconds": np.ones(6), "available": np.ones(6, bool)}
            return Conditions(**{**whole, **changes})

    with pytest.raises(HeteroSelectError, match=f"world: {sentence}"):
        heteroselect.run("mnist", method="fedavg", settings=SMALL, world=Wrong())
