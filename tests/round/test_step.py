"""A step of a server that does not wait: schedules by hand, against rounds, and properties of any schedule."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heteroselect import HeteroSelectError, methods
from heteroselect.core.conditions import Conditions
from heteroselect.core.flat import Layout, Span, Weights
from heteroselect.core.messages import Upload
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.streams import Streams
from heteroselect.core.update import Update
from heteroselect.parts.aggregate import Buffer, ByVariance, Equal, ServerSGD
from heteroselect.parts.allocate import Allocation
from heteroselect.parts.compress import Drive
from heteroselect.parts.compress.wire import encode
from heteroselect.parts.select import Oort
from heteroselect.parts.train import SGD
from heteroselect.round.method import Method
from heteroselect.round.round import play_round
from heteroselect.round.server import Server
from heteroselect.round.step import play_step
from heteroselect.runs.experiment import prepare
from heteroselect.runs.loop import simulated
from heteroselect.runs.own import Own
from heteroselect.runs.progress import Progress, flight_arrays, flights_of
from heteroselect.settings.config import load
from heteroselect.world import Availability, Environment, Faults, Intervals

ROUNDS = 100


@dataclass(frozen=True)
class Fixed:
    """A world in which client k trains for so many seconds, and sends in no time."""

    seconds: tuple[float, ...]

    def conditions(self, round, now, clients, losses, streams):
        links = np.full(clients, 1e30)
        return Conditions(links, links, np.array(self.seconds), np.ones(clients, bool))


@dataclass(frozen=True)
class First:
    """The free clients with the lowest numbers."""

    def select(self, scores, context):
        return context.cohort(np.arange(context.size))


@dataclass(frozen=True)
class Rising:
    """A density of its own for each client, doubled in every step as far as there is more to send."""

    first: tuple[float, ...]
    average = 1.0

    def allocate(self, scores, cohort, context):
        densities = np.minimum(2.0 ** (context.moment.round - 1) * np.array(self.first)[cohort.ids], 1.0)
        return Allocation(float(densities.mean()), densities)


class Script:
    """An engine whose client k moves coordinate k by 1; it notes who starts with which model, and who is settled."""

    def __init__(self, clients):
        self.layout = Layout(clients, (Span("w", 0, clients),), (Span("", 0, clients),))
        self.started, self.working, self.bytes = [], set(), 0

    def losses(self, weights, questions):
        raise AssertionError("nobody is asked")

    def train(self, weights, orders, shared):
        uploads = []
        for order in orders:
            assert order.client not in self.working, "at work already"
            self.working.add(order.client)
            self.started.append((order.round, order.client, weights.vector.tolist()))
            vector = np.zeros(self.layout.size, np.float32)
            vector[order.client] = 1.0
            uploads.append(Upload(order.client, encode(Update.whole(vector)), 10, {"loss": 1.0, "norm": 1.0}))
            self.bytes += len(uploads[-1].payload)
        return uploads[::-1]

    def acknowledge(self, used):
        self.working -= set(used)


@dataclass
class Run:
    """Steps one after the other."""

    seconds: tuple[float, ...]
    wait: Buffer
    faults: Faults = Faults()
    world: object = None
    parts: dict = field(default_factory=dict)

    def __post_init__(self):
        clients = len(self.seconds)
        self.engine = Script(clients)
        self.method = replace(
            Method("own", select=First(), solver=SGD(steps=1), async_mode=self.wait, weigh=Equal()), **self.parts
        )
        self.environment = Environment(self.world or Fixed(self.seconds), 10.0, faults=self.faults)
        self.server = Server(Weights(torch.zeros(clients), {}), Population.new(np.full(clients, 320)))

    def step(self):
        moment = Moment(self.server.round + 1, ROUNDS)
        played = play_step(
            moment, self.server, self.method, self.engine, self.environment, Streams(3), selected=len(self.seconds)
        )
        self.engine.acknowledge(played.used)
        self.server = played.server
        return played

    def steps(self, count):
        return [self.step() for _ in range(count)]


def schedule(played):
    """Per step: the second it ends at, who is in it, and their weights."""
    return [
        (one.server.now, dict(zip(one.record.selected, np.round(one.record.weights, 9), strict=True))) for one in played
    ]


def near(number):
    return round(number, 9)


def test_three_clients_of_2_3_and_7_seconds_two_answers_per_step():
    # all start at 0; clients 0 and 1 answer at 2 and 3, start again at 3 and answer at 5 and 6, start again at 6; then
    # client 2 answers at 7, two steps late, and client 0 at 8; and client 1, which started a step before, at 9
    run = Run((2.0, 3.0, 7.0), Buffer(size=2))
    played = run.steps(4)
    assert schedule(played) == [
        (3.0, {0: 0.5, 1: 0.5}),
        (6.0, {0: 0.5, 1: 0.5}),
        (8.0, {2: near(0.5 * 3**-0.5), 0: 0.5}),
        (10.0, {1: near(0.5 * 2**-0.5), 0: 0.5}),
    ]
    assert [one.record.seconds for one in played] == [3.0, 3.0, 2.0, 2.0]
    assert [one.record.seconds_by_charge for one in played][2] == {"paper": 2.0}
    # each moves its own coordinate by its weight
    w1 = [0.5, 0.5, 0.0]
    w2 = [1.0, 1.0, 0.0]
    w3 = [1.5, 1.0, 0.5 * 3**-0.5]
    assert played[2].server.weights.vector.tolist() == pytest.approx(w3)
    assert [(t, k) for t, k, _ in run.engine.started] == [
        *[(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 2)]
    ]
    assert [model for _, _, model in run.engine.started][3:7] == [w1, w1, w2, w2]
    assert [(one.order.client, one.order.round, one.arrives) for one in run.server.flights] == [(2, 4, 15.0)]
    assert run.server.population.counts.tolist() == [4, 3, 2]
    assert run.server.population.reported("seconds").tolist() == [2.0, 3.0, 7.0]


def test_a_step_after_every_answer():
    # 0 answers at 2, 4, 6 …, 1 at 3, 6 …, 2 at 7. At 6 client 1, which started first, comes first
    run = Run((2.0, 3.0, 7.0), Buffer(size=1))
    assert schedule(run.steps(6)) == [
        (2.0, {0: 1.0}),
        (3.0, {1: near(2**-0.5)}),
        (4.0, {0: near(2**-0.5)}),
        (6.0, {1: near(2**-0.5)}),
        (6.0, {0: near(2**-0.5)}),
        (7.0, {2: near(6**-0.5)}),
    ]


def test_whoever_is_done_is_followed_at_once():
    # two at work: 0 answers at 2 and is followed by 2, with the same model, who answers at 3: the step. Then 0 (2 s)
    # beside 1, which answers at 5 as 0 does, and started earlier
    run = Run((2.0, 5.0, 1.0, 9.0), Buffer(size=2, concurrency=2))
    assert schedule(run.steps(2)) == [(3.0, {0: 0.5, 2: 0.5}), (5.0, {1: near(0.5 * 2**-0.5), 0: 0.5})]
    assert [(t, k, model[0]) for t, k, model in run.engine.started] == [(1, 0, 0), (1, 1, 0), (1, 2, 0), (2, 0, 0.5)]


def test_models_are_mixed():
    # FedAsync: w ← w + α·s(τ)·(w_k + Δ_k − w). Client 0 first, from w_0 = 0; then client 1, also from 0: stale
    run = Run((2.0, 3.0, 7.0), Buffer(size=1, mixes="models"), parts={"server_optimizer": ServerSGD(rate=0.6)})
    first, second = run.steps(2)
    assert first.server.weights.vector.tolist() == pytest.approx([0.6, 0.0, 0.0])
    rate = 0.6 * 2**-0.5
    assert second.server.weights.vector.tolist() == pytest.approx([0.6 - rate * 0.6, rate, 0.0])


def test_an_answer_counts_by_the_variance_at_the_density_that_it_was_told_at_its_start():
    # the first schedule, not discounted. 1/(1 + V) = 2θ/π, so that weights are as densities: 0.05 to 0.15, the
    # double of both, then client 2 of the first step (0.8) beside client 0 of the third (0.2), then 1 of the third
    # (0.6) beside client 0 of the fourth (0.4)
    parts = {"compress": Drive(), "allocate": Rising((0.05, 0.15, 0.8)), "weigh": ByVariance()}
    run = Run((2.0, 3.0, 7.0), Buffer(size=2, exponent=0.0), parts=parts)
    assert [weights for _, weights in schedule(run.steps(4))] == [
        {0: 0.25, 1: 0.75},
        {0: 0.25, 1: 0.75},
        {2: 0.8, 0: 0.2},
        {1: 0.6, 0: 0.4},
    ]


def test_what_is_missing_is_given_up_when_it_was_expected_and_fills_no_place():
    run = Run((2.0, 3.0, 7.0), Buffer(size=2), faults=Faults(missing=1.0))
    played = run.step()
    assert (played.record.selected, played.record.weights) == ([0, 1, 2], [0.0, 0.0, 0.0])
    assert (played.server.now, played.used) == (7.0, {0: False, 1: False, 2: False})
    assert [event.kind for event in played.record.events] == ["missing"] * 3
    assert (played.record.bytes.up, played.record.bytes.up_paper, played.record.bytes.down) == (0, 0.0, 3 * 12)
    early = Run((2.0, 3.0, 7.0), Buffer(size=2), faults=Faults(missing=1.0, deadline=1.0)).step()
    assert early.server.now == 1.0


@pytest.mark.parametrize(
    ("faults", "now", "kinds"),
    [
        (Faults(late=1.0), 9.0, []),  # 6 and 9 seconds instead of 2 and 3
        (Faults(late=1.0, deadline=5.0), 5.0, ["late"] * 3),
        (Faults(late=1.0, deadline=5.0, late_rule="wait"), 9.0, []),
    ],
)
def test_a_late_answer_is_late_and_after_a_deadline_dropped(faults, now, kinds):
    played = Run((2.0, 3.0, 7.0), Buffer(size=2), faults=faults).step()
    assert played.server.now == now
    assert [event.kind for event in played.record.events] == kinds


def test_an_answer_that_cannot_be_used_is_rejected():
    played = Run((2.0, 3.0, 7.0), Buffer(size=2), faults=Faults(nan=1.0)).step()
    assert [event.kind for event in played.record.events] == ["rejected"] * 2
    assert played.used == {0: False, 1: False}
    assert played.server.weights.vector.tolist() == [0, 0, 0]


def test_a_step_of_one_answer_is_measured_by_what_was_accepted_before():
    run, engine = Run((2.0, 3.0, 7.0), Buffer(size=1)), Script.train

    def swelling(weights, orders, shared):
        uploads = engine(run.engine, weights, orders, shared)
        return [replace(one, payload=encode(Update.whole(np.full(3, 1e6, np.float32)))) for one in uploads]

    assert [one.record.events for one in run.steps(4)] == [[]] * 4
    run.engine.train = swelling
    for _ in range(3):  # those at work were started before
        before, played = run.server.weights.vector, run.step()
        if played.record.events:
            break
    assert [event.kind for event in played.record.events] == ["rejected"]
    assert torch.equal(played.server.weights.vector, before)


def test_somebody_who_comes_starts_and_one_who_leaves_is_missing():
    # client 0 is there all the time, client 1 from second 1 to 3 (it would need 3 seconds), client 2 from second 1 on
    there = Availability.of([[(0, 100)], [(1, 3)], [(1, 100)]], 100)
    run = Run((4.0, 3.0, 2.0), Buffer(size=2), world=Intervals(Fixed((4.0, 3.0, 2.0)), there))
    first, second = run.steps(2)
    # client 1 is given up at second 4, when the first step is full, and not there to start again
    assert schedule([first, second]) == [(4.0, {2: 0.5, 0: 0.5}), (8.0, {1: 0.0, 2: 0.5, 0: 0.5})]
    assert [(event.client, event.kind) for event in second.record.events] == [(1, "missing")]


def test_where_nobody_is_there_the_server_sleeps():
    seconds = (4.0, 3.0)
    run = Run(seconds, Buffer(size=1), world=Intervals(Fixed(seconds), Availability.of([[(50, 90)]], 100)))
    assert run.step().server.now == 53.0
    never = Run(seconds, Buffer(size=1), world=Intervals(Fixed(seconds), Availability.of([[]], 100)))
    with pytest.raises(HeteroSelectError, match="nobody comes later"):
        never.step()


def test_every_upload_is_charged_once_also_those_in_flight_at_the_end():
    run = Run((2.0, 3.0, 7.0, 4.5, 1.0), Buffer(size=2, concurrency=3))
    played = run.steps(9)
    starts, flying = len(run.engine.started), [len(one.upload.payload) for one in run.server.flights]
    assert flying
    assert sum(one.record.bytes.up for one in played) == run.engine.bytes
    assert sum(sum(one.record.bytes.up_clients) for one in played) == run.engine.bytes - sum(flying)
    assert sum(one.record.bytes.down for one in played) == starts * 5 * 4
    assert sum(one.record.bytes.up_paper for one in played) == starts * 5 * 4


@settings(deadline=None, max_examples=60)
@given(
    seconds=st.lists(st.floats(0, 50), min_size=1, max_size=8).map(tuple),
    size=st.integers(1, 6),
    concurrency=st.integers(1, 9),
    chances=st.tuples(*[st.floats(0, 0.3)] * 3),
    deadline=st.sampled_from([0.0, 5.0]),
)
def test_nobody_is_at_work_twice_and_time_never_runs_backward(seconds, size, concurrency, chances, deadline):
    missing, late, corrupt = chances
    faults = Faults(missing=missing, late=late, corrupt=corrupt, deadline=deadline)
    run, now = Run(seconds, Buffer(size=size, concurrency=concurrency), faults), 0.0
    for t in range(1, 8):
        played = run.step()  # the engine refuses to start somebody twice
        assert played.server.round == t
        assert played.server.now >= now
        assert played.record.seconds >= 0
        now = played.server.now
        clients = [one.order.client for one in played.server.flights]
        assert len(set(clients)) == len(clients) <= concurrency
        assert set(clients) == run.engine.working
        assert not set(clients) & set(played.record.selected)
        assert all(one.start <= now for one in played.server.flights)
        counted = [k for k in played.record.selected if k not in {event.client for event in played.record.events}]
        assert len(counted) <= size
        assert (np.array(played.record.weights) <= 1).all()


def blobs():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 240)
    return (rng.normal(size=(240, 5)) + 2 * np.eye(3, 5)[y]).astype(np.float32), y


@pytest.mark.parametrize(
    "changes",
    [{}, {"method.compress.kind": "topk", "method.error_feedback.kind": "error"}, {"method.select.kind": "oort"}],
    ids=["fedavg", "topk", "oort"],
)
def test_among_equally_fast_clients_steps_of_a_whole_cohort_are_rounds(changes):
    """The same bits: weights, bytes and who takes part; seconds as close as sums of them are."""
    same = {"world.bandwidth_min_mbps": 2.0, "world.bandwidth_max_mbps": 2.0, "world.charge": "everything"}
    same |= {"world.downlink_min_mbps": 9.0, "world.downlink_max_mbps": 9.0}
    same |= {"world.step_seconds_min": 0.3, "world.step_seconds_max": 0.3, "data.partition": "iid"}
    same |= {"clients": 12, "selected": 4, "rounds": 6, "method.solver.steps": 2, "method.solver.batch": 4}
    found = []
    for wait in ({}, {"method.async_mode.kind": "buffer", "method.async_mode.size": 4}):
        made = prepare(load({}, method="fedavg", changes={**same, **changes, **wait}), Own(data=blobs()))
        progress, steps = Progress.start(made, None), []
        play = play_step if wait else play_round
        with simulated(made, progress, threads=1) as engine:
            for t in range(1, 7):
                played = play(
                    *(Moment(t, 6), progress.server, made.method, engine.clients, made.environment, made.streams),
                    selected=4,
                )
                engine.clients.acknowledge(played.used)
                progress.server = played.server
                steps.append(played)
        found.append(steps)
    for one, other in zip(*found, strict=True):
        assert one.server.weights.sha256() == other.server.weights.sha256()
        assert one.record.selected == other.record.selected
        assert one.record.bytes == other.record.bytes
        assert one.server.now == pytest.approx(other.server.now, rel=1e-12)
        assert other.server.flights == ()


def test_those_at_work_can_be_written_down_and_train_again_to_the_same_bits():
    run = Run((2.0, 3.0, 7.0, 4.5, 1.0), Buffer(size=2, concurrency=4), faults=Faults(missing=0.3, late=0.2))
    run.steps(5)
    flights = run.server.flights
    assert len({one.order.round for one in flights}) > 1
    arrays = flight_arrays(flights)
    # every model once, and only those that somebody started from
    assert {name for name in arrays if name.startswith("model.")} == {f"model.{one.order.round}" for one in flights}
    again = flights_of(arrays, run.server.weights)
    run.engine.working.clear()
    whole = Run(run.seconds, run.wait, run.faults)
    whole.server = replace(run.server, flights=again)
    before = [(one.order, one.fate, one.arrives, one.model.vector.tolist()) for one in flights]
    assert [(one.order, one.fate, one.arrives, one.model.vector.tolist()) for one in again] == before
    assert [one.upload for one in again] == [None] * len(flights)
    whole_steps = whole.steps(4)
    run.engine.working = {one.order.client for one in flights}
    for one, other in zip(run.steps(4), whole_steps, strict=True):
        assert one.record == other.record
        assert one.server.weights.sha256() == other.server.weights.sha256()
    assert flight_arrays(()) == {}
    assert flights_of({}, run.server.weights) == ()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"method": "heteroselect"},
            r"method\.async_mode: buffer asks nobody for a loss; .* not score informativeness",
        ),
        ({"select.kind": "fedcor"}, "not select fedcor"),
        ({"allocate.kind": "deadline"}, r"lets clients start one by one; .* not allocate deadline"),
        ({"allocate.kind": "optrate"}, "not allocate optrate"),
        ({"solver.kind": "scaffold"}, "not solver scaffold"),
        ({"compress.kind": "fedluar"}, "not compress fedluar"),
        ({"error_feedback.kind": "ef21"}, "not error_feedback ef21"),
        ({"local_steps.kind": "device"}, "not local_steps device"),
        ({"second_selection.kind": "optimal-client-sampling"}, "not select pool"),
        ({"weigh.kind": "share", "select.kind": "delta"}, "not weigh share"),
        ({"async_mode.mixes": "models", "aggregate.kind": "median"}, "aggregate mean only, not median"),
        ({"async_mode.size": 0}, "a whole number ≥ 1"),
    ],
    ids=str,
)
def test_what_cannot_go_with_it_is_refused_in_one_sentence(changes, text):
    changes = dict(changes)
    method = changes.pop("method", "fedbuff")
    given = {"method.async_mode.kind": "buffer"} | {f"method.{key}": value for key, value in changes.items()}
    with pytest.raises(HeteroSelectError, match=text):
        load({}, method=method, changes=given)


def test_a_selector_that_takes_too_many_is_refused():
    with pytest.raises(HeteroSelectError, match=r"method\.select: it chose 4 clients where 3 may start"):
        Run((1.0,) * 8, Buffer(size=2, concurrency=3), parts={"select": Oort(overcommit=1.3)}).step()


def test_fedasync_and_fedbuff_are_what_their_papers_say():
    fedbuff, fedasync = methods.get("fedbuff"), methods.get("fedasync")
    assert fedbuff.async_mode == Buffer(size=5, exponent=0.5, mixes="updates")
    assert (fedasync.async_mode, fedasync.server_optimizer) == (
        Buffer(size=1, exponent=0.5, mixes="models"),
        ServerSGD(rate=0.6),
    )
