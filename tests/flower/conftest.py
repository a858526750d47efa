"""Flower's grid in this process: messages go to the clients' code directly, and things can be made to go wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if find_spec("flwr"):
    from flwr.app import Message

    from heteroselect.engines.flower.engine import FlowerEngine
    from heteroselect.engines.flower.exchange import Exchange
    from heteroselect.engines.flower.reply import Site, reply

from heteroselect.core.flat import FlatModel
from heteroselect.engines.simulate.engine import Simulator
from heteroselect.engines.simulate.pool import Pool
from heteroselect.runs.experiment import Experiment, prepare
from heteroselect.runs.loop import Engine, Opening, evaluator
from heteroselect.runs.progress import Progress
from heteroselect.settings.config import load

SMALL = {
    "clients": 6,
    "selected": 3,
    "rounds": 4,
    "method.solver.steps": 4,
    "data.dominant_fraction": 0.4,
    "method.score.batches": 1,
}


class Nodes:
    """A post whose nodes live here. `lose` says which answers never come, `spoil` changes them."""

    def __init__(self, experiment: Experiment, memory: Path, places: int | None = None) -> None:
        places = places or experiment.config.clients
        model, self.first = FlatModel(experiment.module), 1000
        self.sites = [
            Site(
                {one.id: one for one in experiment.clients() if one.id % places == place},
                model,
                experiment.task,
                experiment.method,
                memory,
                experiment.weights,
            )
            for place in range(places)
        ]
        self.lose: Callable[[Message], bool] = lambda message: False
        self.spoil: Callable[[Message], Message] = lambda message: message
        self.seen: list[Message] = []
        self.keys: dict[int, str] = {}  # by place, where nodes have any

    def nodes(self) -> dict[int, str]:
        return {self.first + place: self.keys.get(place, "") for place in range(len(self.sites))}

    def exchange(self, messages: Sequence[Message], timeout: float) -> list[Message]:
        answers = []
        for message in messages:
            self.seen.append(message)
            if not self.lose(message):
                answer = reply(message, self.sites[message.metadata.dst_node_id - self.first])
                answers.append(self.spoil(answer))
        return answers[::-1]  # in no order to rely on


def small(method: str | None = None, **changes: Any) -> Experiment:
    usual = {key: value for key, value in SMALL.items() if method is None or key != "method.score.batches"}
    return prepare(load("mnist", method=method, changes={**usual, **changes}))


def gathered(experiment: Experiment, nodes: Nodes, **more: Any) -> FlowerEngine:
    """The engine over these nodes, once it has found all clients."""
    settings = {"run": "a", "kept": {}, "claims": experiment.method.outlier_filter.claims, **more}
    engine = FlowerEngine(Exchange(nodes, experiment.config.clients, **settings), FlatModel(experiment.module).layout)
    engine.gather()
    return engine


def opening_on(experiment: Experiment, nodes: Nodes, **more: Any) -> Opening:
    @contextmanager
    def opening(progress: Progress) -> Iterator[Engine]:
        with Pool(experiment.module) as pool:
            clients = gathered(experiment, nodes, kept=progress.kept, timeout=1.0, **more)
            yield Engine(clients, evaluator(experiment, pool))

    return opening


def opening_of(experiment: Experiment, kind: type[Simulator]) -> Opening:
    """A simulator of another kind."""

    @contextmanager
    def opening(progress: Progress) -> Iterator[Engine]:
        with Pool(experiment.module) as pool:
            clients = kind(pool, experiment.clients(), experiment.task, experiment.method, kept=progress.kept)
            yield Engine(clients, evaluator(experiment, pool))

    return opening


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> None:
    """Everything here needs Flower."""
    if not find_spec("flwr"):
        pytest.skip("Flower is not installed (pip install 'heteroselect[flower]')", allow_module_level=True)


@pytest.fixture(autouse=True)
def _identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who this process is, as Flower tells its apps before they send a message."""
    from flwr.supercore.task_identity import TaskIdentity

    for name in ("_task_id", "_run_id", "_node_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)


@pytest.fixture(autouse=True)
def _nobody_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes in this process are there or never will be."""
    from heteroselect.engines.flower import homes

    monkeypatch.setattr(homes, "ARRIVAL", 0.1)


@pytest.fixture(name="nodes_of")
def _nodes() -> type[Nodes]:
    return Nodes


@pytest.fixture(name="small")
def _small() -> Callable[..., Experiment]:
    return small


@pytest.fixture(name="gathered")
def _gathered() -> Callable[..., FlowerEngine]:
    return gathered


@pytest.fixture(name="opening_on")
def _opening_on() -> Callable[..., Opening]:
    return opening_on


@pytest.fixture(name="opening_of")
def _opening_of() -> Callable[[Experiment, type[Simulator]], Opening]:
    return opening_of
