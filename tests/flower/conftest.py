"""Flower's grid in this process: messages go to the clients' code directly, and things can be made to go wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from scripts import script

if find_spec("flwr"):
    from flwr.app import Message

    from heteroselect.engines.flower.engine import FlowerEngine
    from heteroselect.engines.flower.exchange import Exchange
    from heteroselect.engines.flower.records import Header
    from heteroselect.engines.flower.reply import Site, reply

from heteroselect.core.flat import FlatModel
from heteroselect.engines.simulate.engine import Simulator
from heteroselect.engines.simulate.pool import Pool
from heteroselect.runs.experiment import Experiment, prepare
from heteroselect.runs.folder import RunFolder
from heteroselect.runs.loop import Engine, evaluator, play
from heteroselect.runs.progress import Progress
from heteroselect.runs.result import Result
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
    """A post whose nodes live here. `lose` says which messages are never answered, `spoil` changes the answers."""

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
                answers.append(self.spoil(self.reply(message)))
        return answers[::-1]  # in no order to rely on

    def reply(self, message: Message) -> Message:
        return reply(message, self.sites[message.metadata.dst_node_id - self.first])

    def harm(
        self, how: Callable[[Message], Message | None], kind: str = "", client: int | None = None, round: int = 0
    ) -> list[int]:
        """Change the answers of this kind, client (of a Hello: node at this place) and round, or put others in their
        place; the rounds in which it happened are added to what is returned."""
        harmed = []

        def spoil(message: Message) -> Message:
            header = Header.read(message.content)
            who = message.metadata.src_node_id - self.first if header.kind == "Hello" else header.client
            if kind not in ("", header.kind) or client not in (None, who) or round not in (0, header.round):
                return message
            harmed.append(header.round)
            return how(message) or message

        self.spoil = spoil
        return harmed


class Carried:
    """A small run over nodes of this process; `more` are settings of its exchange."""

    def __init__(self, experiment: Experiment, memory: Path, places: int | None) -> None:
        self.experiment, self.weights = experiment, experiment.weights
        self.nodes = Nodes(experiment, memory, places)

    def engine(self, **more: Any) -> FlowerEngine:
        """The engine over these nodes, once it has found all clients."""
        here = self.experiment
        settings = {"run": "a", "kept": {}, "claims": here.method.outlier_filter.claims, **more}
        engine = FlowerEngine(Exchange(self.nodes, here.config.clients, **settings), FlatModel(here.module).layout)
        engine.gather()
        return engine

    def play(self, folder: RunFolder | None = None, *, found: Any = None, watch: Any = None, **more: Any) -> Result:
        @contextmanager
        def opening(progress: Progress) -> Iterator[Engine]:
            with Pool(self.experiment.module) as pool:
                clients = self.engine(kept=progress.kept, timeout=1.0, **more)
                yield Engine(clients, evaluator(self.experiment, pool))

        return play(self.experiment, folder, threads=1, engine=opening, found=found, watch=watch)

    def simulated(self, kind: type[Simulator] = Simulator) -> Result:
        @contextmanager
        def opening(progress: Progress) -> Iterator[Engine]:
            with Pool(self.experiment.module) as pool:
                here = self.experiment
                clients = kind(pool, here.clients(), here.task, here.method, kept=progress.kept)
                yield Engine(clients, evaluator(here, pool))

        return play(self.experiment, None, threads=1, engine=opening)

    def check(self, mine: Result | None = None) -> Result:
        """The run, which is the simulator's to the bit."""
        mine, theirs = mine or self.play(), self.simulated()
        assert mine.rounds == theirs.rounds
        assert mine.summary["model_sha256"] == theirs.summary["model_sha256"]
        return mine


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


@pytest.fixture
def carried(tmp_path: Path) -> Callable[..., Carried]:
    """A small run with these changes, or one that is given."""

    def new(
        method: str | None = None,
        *,
        places: int | None = None,
        memory: str = "memory",
        experiment: Experiment | None = None,
        **changes: Any,
    ) -> Carried:
        usual = {key: value for key, value in SMALL.items() if method is None or key != "method.score.batches"}
        made = experiment or prepare(load("mnist", method=method, changes={**usual, **changes}))
        return Carried(made, tmp_path / memory, places)

    return new


@pytest.fixture
def joined() -> Iterator[Callable[[int], list[Any]]]:
    """Makes so many hosts, each with a link of its own to a server, in network namespaces."""
    if not os.environ.get("HETEROSELECT_NETWORK"):
        pytest.skip("it makes network namespaces: run by make test-network")
    links = script("studies/shaped_links.py")
    with ExitStack() as made:

        def join(count: int) -> list[Any]:
            try:
                return made.enter_context(links.joined(count))
            except links.UnavailableError as error:
                pytest.skip(str(error))

        yield join
