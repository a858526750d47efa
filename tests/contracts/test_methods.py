"""What every method promises: whole rounds in a small world, a record that can be written down, and state by role."""

import json
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from contracts.found import bits
from heteroselect import Method, methods
from heteroselect.core.moment import Moment
from heteroselect.core.part import kind_of
from heteroselect.core.state import by_role, flat
from heteroselect.core.traits import Traits
from heteroselect.parts.kinds import KINDS
from heteroselect.round.round import play_round
from heteroselect.round.server import RoundOutcome, Server
from heteroselect.round.step import play_step
from heteroselect.runs.experiment import Experiment, prepare
from heteroselect.runs.loop import simulated
from heteroselect.runs.own import Own
from heteroselect.runs.progress import Progress
from heteroselect.settings.config import load
from heteroselect.settings.method import changed
from heteroselect.world import Availability, DrawnWorld, GivenDevices, Intervals, LinkTrace, Rates, TracedLinks, World

CLIENTS, SELECTED, ROUNDS = 6, 3, 3


@dataclass(frozen=True)
class Last:
    """A user's own selector: the last of the candidates; it counts its rounds."""

    traits = Traits(needs={"links"})

    skip: int = 0

    def select(self, scores: Any, context: Any) -> Any:
        assert context.links.up.shape == context.ids.shape
        count = context.state.get("rounds", np.zeros(1)) + 1
        return context.cohort(
            np.arange(len(context.ids))[-context.size - self.skip :][: context.size], state={"rounds": count}
        )


OWN = Method("own", select=Last(skip=1))
PUBLISHED = [entry.method for entry in methods.REGISTRY.values()]
OTHERS = [
    replace(changed(Method(), given={f"{role}.kind": kind}).method, name=f"{role} {kind}")
    for role, kinds in KINDS.items()
    for kind in kinds
    if kind not in {kind_of(getattr(method, role)) for method in PUBLISHED}
]
"""Each kind that no method has, as it is when it is chosen by name: with what it brings."""
ALL = [*PUBLISHED, *OTHERS, OWN]
by_name = pytest.mark.parametrize("method", ALL, ids=lambda method: method.name)


def blobs(count: int = 120, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    y = rng.integers(0, classes, count)
    return rng.normal(size=(count, 5)).astype(np.float32) + 2 * np.eye(classes, 5, dtype=np.float32)[y], y


@cache
def experiment(method: Method) -> Experiment:
    changes = {"method.solver.steps": 2, "method.solver.batch": 4}
    if getattr(method.score, "mode", "") == "candidates":
        changes["method.score.candidates"] = SELECTED + 1
    run = {"clients": CLIENTS, "selected": SELECTED, "rounds": ROUNDS, "data": {"partition": "iid"}}
    return prepare(load(run, method=method, changes=changes), Own(data=blobs()))


def played(
    method: Method, before: Server | None = None, rounds: int = ROUNDS, world: World | None = None
) -> list[RoundOutcome]:
    """Round after round, each taken over by server and clients; in another world and by its clock, where there is
    one."""
    made = experiment(method)
    if world is not None:
        clock = replace(made.environment.clock, charge="everything")
        made = replace(made, environment=replace(made.environment, world=world, clock=clock))
    progress, found = Progress.start(made, None), []
    progress.server = before or progress.server
    with simulated(made, progress, threads=1) as engine:
        for t in range(progress.server.round + 1, rounds + 1):
            play = play_step if method.async_mode.size else play_round
            one = play(
                Moment(t, ROUNDS),
                progress.server,
                made.method,
                engine.clients,
                made.environment,
                made.streams,
                selected=SELECTED,
            )
            engine.clients.acknowledge(one.used)
            progress.uploads.update(one.received)
            progress.server = one.server
            found.append(one)
    return found


@cache
def whole(method: Method) -> list[RoundOutcome]:
    return played(method)


@by_name
def test_it_plays_whole_rounds(method: Method) -> None:
    begun = experiment(method).weights.sha256()
    for t, one in enumerate(whole(method), start=1):
        record = one.record
        assert (one.server.round, record.round) == (t, t)
        assert len(set(record.selected)) == len(record.selected) >= 1
        assert set(record.selected) <= set(range(CLIENTS))
        lengths = {len(figures) for figures in (record.scores, record.densities, record.weights, record.selected)}
        assert len(lengths) == 1
        assert all(0 <= density <= 1 for density in record.densities)
        assert all(weight >= 0 for weight in record.weights)
        assert sum(record.weights) > 0
        assert record.seconds > 0
        assert np.isfinite(one.server.weights.vector.numpy()).all()
        assert one.server.weights.sha256() != begun
        assert (len(one.received) > 0) == ("uploads" in method.needs)
        json.dumps(vars(record) | {"bytes": vars(record.bytes), "events": []}, allow_nan=False)


LEAVE, STAY = {0, 1}, {2, 3, 4}
REAL = TracedLinks(
    Intervals(
        DrawnWorld(devices=GivenDevices(np.full(CLIENTS, 0.1))),
        Availability.of([[(0.0, 0.25)]] * 2 + [[(0.0, 900.0)]] * 3 + [[(900.0, 1000.0)]], 1000.0),
    ),
    LinkTrace((Rates(np.array([0.0, 3.0, 4.0]), np.array([1e3, 0.0, 4e3]), 6.0),)),
)
"""1 kb/s for three seconds, an outage of one, then 4 kb/s; two clients that leave while they train or send, and one
that is not there."""


@by_name
def test_it_plays_where_links_change_and_clients_leave(method: Method) -> None:
    now = 0.0
    for t, one in enumerate(played(method, rounds=2, world=REAL), start=1):
        record = one.record
        assert set(record.selected) <= (STAY if t > 1 and not method.async_mode.size else STAY | LEAVE)
        assert {k for k, used in one.used.items() if used} <= STAY, "the others are gone before anything can arrive"
        assert sum(record.weights) > 0
        assert one.server.now == now + record.seconds > now
        assert np.isfinite(one.server.weights.vector.numpy()).all()
        now = one.server.now


@by_name
def test_the_same_rounds_give_the_same_bits(method: Method) -> None:
    first, again = whole(method), played(method)
    assert [one.server.weights.sha256() for one in first] == [one.server.weights.sha256() for one in again]
    assert [one.record for one in first] == [one.record for one in again]


@by_name
def test_a_round_leaves_the_server_before_it_alone(method: Method) -> None:
    before = whole(method)[0].server
    seen = before.weights.sha256(), bits(before.state), bits(before.population)
    played(method, before, rounds=2)
    assert (before.weights.sha256(), bits(before.state), bits(before.population)) == seen


@by_name
def test_state_has_an_owner_and_comes_back(method: Method) -> None:
    state = whole(method)[-1].server.state
    assert set(state) <= {role for role, _ in method.parts()}
    assert bits(by_role({name: array.copy() for name, array in flat(state).items()})) == bits(state)


def test_a_users_selector_gets_what_it_asked_for() -> None:
    rounds = whole(OWN)
    assert [one.record.selected for one in rounds] == [[2, 3, 4]] * ROUNDS
    assert rounds[-1].server.state["select"]["rounds"].tolist() == [3.0]
