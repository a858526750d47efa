"""The round: Algorithm 1 by hand against an engine that answers from a script, and against real clients."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from contracts.found import bits
from heteroselect import methods
from heteroselect.core.flat import FlatModel, Layout, Span, Weights
from heteroselect.core.messages import Order, Upload
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.streams import Streams
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update
from heteroselect.data.examples import Examples
from heteroselect.engines.simulate.engine import Simulator
from heteroselect.engines.simulate.pool import Pool
from heteroselect.errors import HeteroSelectError
from heteroselect.parts.aggregate import ByData, ByVariance, Screen
from heteroselect.parts.allocate import All, Deadline, ScoreShare, UniformShare
from heteroselect.parts.compress import Drive, ErrorMemory, NoMemory, TopK
from heteroselect.parts.compress.wire import decode, encode
from heteroselect.parts.score import Informativeness, Scores
from heteroselect.parts.select import Cohort
from heteroselect.parts.train import SGD, CosineRate, DeviceSteps, EqualSteps
from heteroselect.round.client import Client, Task, Worker
from heteroselect.round.method import Method
from heteroselect.round.round import play_round
from heteroselect.round.server import Server
from heteroselect.runs.experiment import environment_of
from heteroselect.settings.config import load
from heteroselect.world import (
    Availability,
    DrawnWorld,
    Environment,
    Faults,
    GivenDevices,
    Intervals,
    Links,
    LinkTrace,
    Rates,
    TracedLinks,
)
from heteroselect.world.ledger import LOSS_BYTES

SIZE, CLIENTS = 4, 3
STEP_SECONDS = np.array([0.1, 0.2, 0.3])
STREAMS = Streams(3)


class Script:
    """An engine whose clients have fixed losses and always send the same update."""

    def __init__(self, losses=(1.0, 3.0, 2.0), size=SIZE):
        self.layout = Layout(size, (Span("w", 0, size),), (Span("", 0, size),))
        self.fixed, self.orders, self.asked, self.calibrated = losses, [], [], []

    def losses(self, weights, questions):
        self.asked += [q.client for q in questions]
        return [self.fixed[q.client] for q in questions]

    def train(self, weights, orders, shared):
        self.orders = list(orders)
        uploads = []
        for order in orders:
            vector = np.zeros(self.layout.size, np.float32)
            vector[order.client] = 1.0
            payload = encode(Update.keep(vector, np.arange(self.layout.size)))
            uploads.append(Upload(order.client, payload, 10, {"loss": 0.0}))
        return uploads[::-1]  # a network may answer in any order

    def calibrate(self, weights, request):
        self.calibrated.append((request.client, request.batches))
        return {name: value + 1 for name, value in weights.buffers.items()}


class Everybody:
    """All candidates, in a fixed order of their places."""

    def __init__(self, order):
        self.order = np.array(order)

    def select(self, scores, context):
        return context.cohort(self.order[: context.size])


def begin(clients=CLIENTS, size=SIZE, buffers=None, now=0.0):
    return Server(Weights(torch.zeros(size), buffers or {}), Population.new(np.full(clients, 320)), now=now)


def play(
    moment=None,
    engine=None,
    *,
    order=(2, 0, 1),
    selected=3,
    buffers=None,
    server=None,
    faults=Faults(),
    world=None,
    budget=15.0,
    **parts,
):
    """The round and the engine it was played on."""
    engine = engine or Script()
    method = replace(methods.get("heteroselect"), **({"select": Everybody(order)} | parts))
    environment = Environment(world or DrawnWorld(devices=GivenDevices(STEP_SECONDS)), budget, faults=faults)
    server = server or begin(buffers=buffers)
    played = play_round(moment or Moment(2, 10), server, method, engine, environment, STREAMS, selected=selected)
    return played, engine


def counted(played):
    """The clients whose upload was used."""
    return {client for client, used in played.used.items() if used}


def test_scores_become_weights_and_the_model_moves_by_them():
    # losses 1, 3, 2 and nothing else known: V′ = S = 0, 1, ½ → weights 0, ⅔, ⅓ (eq. 13)
    played, _ = play()
    record, server = played.record, played.server
    assert record.selected == [2, 0, 1]
    assert record.scores == pytest.approx([0.5, 0.0, 1.0])
    assert record.weights == pytest.approx([1 / 3, 0.0, 2 / 3])
    # each client moves its own coordinate by 1; momentum starts at zero (eq. 14)
    assert server.weights.vector.tolist() == pytest.approx([0.0, 2 / 3, 1 / 3, 0.0])
    assert server.of("server_optimizer")["momentum"].tolist() == pytest.approx([0.0, 2 / 3, 1 / 3, 0.0])
    assert record.accuracy is None, "evaluating is not the round's business"
    assert (server.round, server.now) == (2, record.seconds)


def test_momentum_carries_over():
    first, _ = play()
    server = play(Moment(3, 10), server=first.server, order=(1, 0, 2), selected=1)[0].server
    # M ← ½M + Δ̄ with Δ̄ = e₁; w ← w + M
    assert server.of("server_optimizer")["momentum"].tolist() == pytest.approx([0.0, 4 / 3, 1 / 6, 0.0])
    assert server.weights.vector.tolist() == pytest.approx([0.0, 2.0, 1 / 2, 0.0])


def test_everyone_is_told_what_the_equations_say():
    played, engine = play(Moment(2, 10))
    record = played.record
    # T = 10: the cosine has nine rounds and starts at 0.28; β = .85 + .12·.72; η = .05(1 − .1)
    assert record.theta == pytest.approx(0.28)
    assert record.beta == pytest.approx(0.9364)
    assert record.learning_rate == pytest.approx(0.045)
    assert [order.client for order in engine.orders] == record.selected
    for order, density in zip(engine.orders, record.densities, strict=True):
        assert order.density == density
        assert order.beta == pytest.approx(0.9364)
        assert order.rate == pytest.approx(0.045)
        assert not order.warmup
    # S/S̄·θ_t = (.5, 0, 1)/.5·.28, with θ_min for the zero; the ceiling is far away for four coordinates
    assert record.densities == pytest.approx([0.28, 0.005, 0.56])


def test_the_warm_up_sends_everything():
    played, engine = play(Moment(1, 10))
    assert played.record.densities == [1.0] * 3
    assert played.record.theta == 1.0
    assert all(order.warmup for order in engine.orders)


class Holding(Script):
    """An engine whose clients tell the lengths of their updates, and send those that are asked for."""

    def train(self, weights, orders, shared):
        uploads = super().train(weights, orders, shared)
        self.held = {one.client: one for one in uploads}
        return [replace(one, payload=b"", report={"norm": 1.0}) for one in uploads]

    def collect(self, weights, clients):
        return [self.held[client] for client in clients]


class OnlyTheFirst:
    """Client 0 is to send."""

    def choose(self, ids, norms, data, size, rng):
        return Cohort(np.array([0]), np.ones(1))


def test_a_choice_among_those_who_trained_waits_for_the_slowest_before_anybody_sends():
    record = play(engine=Holding(), second_selection=OnlyTheFirst(), allocate=All(), compress=TopK())[0].record
    assert (record.densities, record.bytes.up_clients[0]) == ([0.0, 1.0, 0.0], 0)
    # client 2 takes 0.3 s per step; only then client 0 (0.1 s) is asked for its four values
    assert record.seconds == pytest.approx(50 * 0.3 + 32 * SIZE / (record.bandwidth_mbps[1] * 1e6), rel=1e-12)


def test_the_ledger_charges_for_what_was_asked():
    played, engine = play(selected=1)
    record, model = played.record, 4 * SIZE
    assert sorted(engine.asked) == [0, 1, 2]
    assert record.bytes.up_paper == pytest.approx(record.densities[0] * 4 * SIZE)
    assert record.bytes.up == len(encode(Update.keep(np.zeros(SIZE, np.float32), np.arange(SIZE))))
    assert record.bytes.down == model
    assert record.bytes.scoring == 2 * model + 3 * LOSS_BYTES
    assert record.bytes.calibration == 0


class Blind:
    """A scorer that asks nobody anything."""

    batches, augmented = 1, False

    def asks(self, context):
        return context.ids[:0]

    def score(self, context):
        return Scores(context.ids, np.ones(len(context.ids)), {})


def test_a_method_that_needs_no_losses_is_not_charged():
    played, engine = play(score=Blind())
    assert engine.asked == []
    assert played.record.bytes.scoring == 0
    assert played.record.weights == pytest.approx([1 / 3] * 3)


def test_the_server_remembers_who_sent_and_what():
    played, _ = play(selected=2)
    population = played.server.population
    assert population.counts.tolist() == [1, 0, 1]
    assert population.last_round.tolist() == [2, 0, 2]
    assert sorted(played.received) == [0, 2]
    assert played.received[2].dense().tolist() == [0.0, 0.0, 1.0, 0.0]
    assert played.server.of("score")["consensus"].tolist() == pytest.approx([0.0, 0.0, 1.0, 0.0])


def test_batch_norm_is_calibrated_at_the_first_drawn():
    played, engine = play(buffers={"bn.running_mean": torch.zeros(2)})
    assert engine.calibrated == [(2, 7), (0, 7), (1, 6)]
    # each goes on from the one before
    assert played.server.weights.buffers["bn.running_mean"].tolist() == [3.0, 3.0]
    assert played.record.bytes.calibration == 3 * ((4 * SIZE + 8) + 8)


def test_buffers_that_are_no_statistics_stay():
    played, engine = play(buffers={"positions": torch.zeros(2)})
    assert engine.calibrated == []
    assert played.server.weights.buffers["positions"].tolist() == [0.0, 0.0]
    assert played.record.bytes.calibration == 0


def test_the_order_of_the_answers_does_not_matter():
    class Straight(Script):
        def train(self, weights, orders, shared):
            return super().train(weights, orders, shared)[::-1]

    assert play()[0].server.weights.sha256() == play(engine=Straight())[0].server.weights.sha256()


def test_a_model_that_diverged_is_named_as_such():
    with pytest.raises(HeteroSelectError, match=r"method\.lr\.start: the model diverged before round 2"):
        play(engine=Script(losses=(1.0, float("nan"), 2.0)))


def test_candidates_are_asked_charged_and_selected_among():
    engine = Script()
    score = Informativeness(mode="candidates", candidates=2)
    record = play(engine=engine, order=(1, 0), selected=1, score=score)[0].record
    assert len(engine.asked) == 2
    assert record.selected == [sorted(engine.asked)[1]]
    assert record.bytes.scoring == 4 * SIZE + 2 * LOSS_BYTES
    assert record.loss_mean is None


def test_stale_scores_ask_nobody_and_go_by_what_was_reported():
    class Reporting(Script):
        def train(self, weights, orders, shared):
            return [
                replace(upload, report={"loss": (5.0, 7.0, 6.0)[upload.client]})
                for upload in super().train(weights, orders, shared)
            ]

    engine = Reporting()
    stale = Informativeness(mode="stale", diversity_weight=0, fairness_weight=0, staleness_weight=0)
    played, _ = play(engine=engine, order=(0, 1), selected=2, score=stale)
    assert played.record.scores == [0.5, 0.5]  # nothing is known yet
    assert played.server.population.reported("loss").tolist()[:2] == [5.0, 7.0]
    record = play(Moment(3, 10), engine=engine, server=played.server, score=stale)[0].record
    assert engine.asked == []
    assert record.bytes.scoring == 0
    assert record.selected == [2, 0, 1]
    assert record.scores == [1.0, 0.0, 1.0]  # 5 and 7, and 7 for the one without a report


def test_a_stressed_world_knows_all_losses_and_nobody_pays():
    world = DrawnWorld(Links(stress="inverse"), GivenDevices(STEP_SECONDS))
    record = play(score=Blind(), world=world)[0].record
    # 1 + 4(1 − L/3) for losses 2, 1 and 3
    assert record.bandwidth_mbps == pytest.approx([1 + 4 / 3, 1 + 8 / 3, 1.0])
    assert record.bytes.scoring == 0


def test_a_stressed_world_does_not_ask_twice_what_the_score_asks_too():
    world = DrawnWorld(Links(stress="inverse"), GivenDevices(STEP_SECONDS))
    score = Informativeness(mode="candidates", candidates=2)
    played, engine = play(world=world, score=score, selected=1, order=(0, 1))
    assert sorted(engine.asked) == [0, 1, 2]
    assert played.record.loss_mean is None, "the score sees only those it asked for"
    assert played.record.bytes.scoring == 4 * SIZE + 2 * LOSS_BYTES


# What goes wrong on the way.


def kinds(played):
    return [(event.client, event.kind) for event in played.record.events]


class Losing(Script):
    """An engine some of whose clients never answer, or answer with something else."""

    def __init__(self, lost=(), **payloads):
        super().__init__()
        self.lost, self.payloads = lost, {int(name.removeprefix("c")): payload for name, payload in payloads.items()}

    def train(self, weights, orders, shared):
        uploads = [upload for upload in super().train(weights, orders, shared) if upload.client not in self.lost]
        return [replace(upload, payload=self.payloads.get(upload.client, upload.payload)) for upload in uploads]


def test_the_round_goes_on_without_those_who_do_not_answer():
    played, _ = play(engine=Losing(lost=(2,)))
    record = played.record
    assert record.selected == [2, 0, 1]
    assert record.weights == pytest.approx([0.0, 0.0, 1.0])  # S = 0 and 1 are left
    assert played.server.weights.vector.tolist() == pytest.approx([0.0, 1.0, 0.0, 0.0])
    assert kinds(played) == [(2, "missing")]
    assert played.used == {2: False, 0: True, 1: True}, "whose update is missing is told so, and keeps it"
    assert record.bytes.up_clients[0] == 0
    assert sorted(played.received) == [0, 1]


def test_a_round_with_nobody_left_leaves_everything_as_it_was():
    before = play()[0].server
    played, _ = play(Moment(3, 10), Losing(lost=(0, 1, 2)), server=before)
    server = played.server
    assert server.weights.sha256() == before.weights.sha256()
    assert server.of("server_optimizer")["momentum"] is before.of("server_optimizer")["momentum"]
    assert server.of("score")["consensus"] is before.of("score")["consensus"]
    assert played.record.weights == [0.0] * 3
    assert counted(played) == set()
    assert played.received == {}
    assert (played.record.bytes.up_paper, played.record.bytes.up) == (0, 0)
    assert played.record.seconds > 0, "the server waited for them all the same"


@pytest.mark.parametrize("payload", [b"", b"HSW", b"\0" * 60])
def test_a_payload_that_is_no_update_never_touches_the_model(payload):
    played, _ = play(engine=Losing(c1=payload))
    assert kinds(played) == [(1, "rejected")]
    assert played.record.weights == pytest.approx([1.0, 0.0, 0.0])
    assert played.server.weights.vector.tolist() == pytest.approx([0.0, 0.0, 1.0, 0.0])
    assert counted(played) == {0, 2}
    assert played.record.bytes.up_clients[2] == len(payload), "it went over the air all the same"


def test_an_update_far_longer_than_the_others_is_refused():
    vector = np.full(SIZE, 1e6, np.float32)
    played, _ = play(engine=Losing(c1=encode(Update.whole(vector))))
    assert kinds(played) == [(1, "rejected")]
    assert "longer" in played.record.events[0].detail
    assert float(played.server.weights.vector.abs().max()) <= 1


@pytest.mark.parametrize("selected", [1, 3])
def test_what_no_model_could_take_is_refused_even_where_nothing_is_screened(selected):
    """Finite as it is: in a cohort of one there is nothing to compare it with, and a bound of 0 compares nothing."""
    vector, server = np.full(SIZE, 3e38, np.float32), begin()
    played, _ = play(
        engine=Losing(c2=encode(Update.whole(vector))), selected=selected, server=server, outlier_filter=Screen(0)
    )
    assert kinds(played) == [(2, "rejected")]
    assert counted(played) == ({0, 1} if selected == 3 else set())
    assert bool(played.server.weights.vector.isfinite().all())
    assert torch.equal(played.server.weights.vector, server.weights.vector) == (selected == 1)


class Swelling(Script):
    """Its clients send a million times as much from round 5 on."""

    def train(self, weights, orders, shared):
        times = np.float32(1e6 if orders[0].round >= 5 else 1.0)
        sent = [(one, decode(one.payload, self.layout.size)) for one in super().train(weights, orders, shared)]
        return [replace(one, payload=encode(replace(u, values=times * u.values))) for one, u in sent]


@pytest.mark.parametrize("selected", [1, 2])
def test_a_cohort_of_one_or_two_is_measured_by_what_was_accepted_before(selected):
    server, engine = begin(), Swelling()
    for t in range(1, 5):
        played, _ = play(Moment(t, 10), engine, order=(1, 2, 0), selected=selected, server=server)
        server = played.server
        assert kinds(played) == []
    played, _ = play(Moment(5, 10), engine, order=(1, 2, 0), selected=selected, server=server)
    assert kinds(played) == [(1, "rejected"), (2, "rejected")][:selected]
    assert torch.equal(played.server.weights.vector, server.weights.vector)
    assert played.server.of("outlier_filter")["lengths"].tolist() == [1.0] * 4 * selected, (
        "what is refused is no measure"
    )


def test_what_arrived_is_sent_although_it_counted_nothing():
    assert counted(play()[0]) == {0, 1, 2}  # client 0 has weight 0


@pytest.mark.parametrize("kind", ["missing", "corrupt", "nan", "inf", "late"])
def test_each_fault_of_the_world_keeps_an_update_out(kind):
    played, _ = play(faults=Faults(**{kind: 1.0}, late_factor=4.0))
    expected = "rejected" if kind in ("corrupt", "nan", "inf") else kind
    assert sorted(kinds(played)) == [(k, expected) for k in range(3)]
    assert played.server.weights.vector.tolist() == [0.0] * SIZE
    assert counted(played) == set()


def test_a_deadline_drops_the_slow():
    # 50 steps take 15, 5 and 10 seconds; the uploads next to nothing
    played, _ = play(faults=Faults(deadline=12.0))
    assert kinds(played) == [(2, "late")]
    assert played.record.seconds == pytest.approx(12.0)


# A round returns; it changes nothing.


def carried(server):
    """All that a server carries, as bits."""
    return server.weights.sha256(), server.round, server.now, bits(server.population), bits(server.state)


def test_a_round_changes_nothing_and_the_same_round_again_is_the_same():
    first = play(buffers={"bn.running_mean": torch.zeros(2)})[0]
    known = replace(first.server.population, uploads=dict(first.received))
    server = replace(first.server, population=known)
    before = carried(server)
    one, two = (play(Moment(3, 10), server=server)[0] for _ in range(2))
    assert carried(server) == before
    assert carried(one.server) == carried(two.server) != before
    assert (one.record, one.used, bits(one.received)) == (two.record, two.used, bits(two.received))


# Who is there, and for how long.


def at_times(*intervals, devices=STEP_SECONDS, links=(1.0, 1.0), period=1e6):
    """Clients that are available from a second to a second, each with 1 Mb/s."""
    inner = DrawnWorld(Links(*links), GivenDevices(np.asarray(devices, float)))
    return Intervals(inner, Availability.of([[one] if one else [] for one in intervals], period))


@dataclass(frozen=True)
class Watching:
    """A scorer and a selector that note the situations they were in."""

    seen: list
    traits = Traits(needs={"links"})
    batches: ClassVar[int] = 1
    augmented: ClassVar[bool] = False

    def asks(self, context):
        self.seen.append(("asks", context))
        return context.ids

    def score(self, context):
        self.seen.append(("score", context))
        return Scores(context.ids, context.population.losses, {})

    def select(self, scores, context):
        self.seen.append(("select", context))
        return context.cohort(np.arange(context.size))


def test_a_round_waits_until_somebody_is_there():
    # clients 0 and 2 come at second 100; the round begins at second 40
    watching, engine = Watching([]), Script()
    world = at_times((100, 400), None, (100, 500))
    played, _ = play(
        engine=engine, world=world, server=begin(now=40.0), score=watching, select=watching, allocate=All()
    )
    record = played.record
    assert record.selected == [0, 2]
    # 60 s of waiting, 50 steps of 0.3 s, and 4 values of 32 bits at 1 Mb/s
    assert record.seconds == pytest.approx(60 + 15 + 128e-6)
    assert played.server.now == pytest.approx(40 + record.seconds)
    assert [name for name, _ in watching.seen] == ["asks", "score", "select"]
    for _, context in watching.seen:
        assert context.ids.tolist() == [0, 2]
        assert len(context.population) == 2
    assert engine.asked == [0, 2], "who is away is not asked"
    assert watching.seen[1][1].population.losses.tolist() == [1.0, 2.0]
    assert watching.seen[2][1].size == 2
    assert watching.seen[2][1].conditions.up.tolist() == [1e6, 1e6]
    assert np.isnan(played.server.population.losses[1])


def test_the_seconds_of_waiting_are_counted_once():
    world = at_times((100, 400), (100, 400), (100, 400))
    first, _ = play(world=world, allocate=All())
    assert first.record.seconds == pytest.approx(100 + 15 + 128e-6)
    second, _ = play(Moment(3, 10), world=world, server=first.server, allocate=All())
    assert second.record.seconds == pytest.approx(15 + 128e-6)
    assert second.server.now == pytest.approx(130 + 256e-6)


def test_a_world_to_which_nobody_ever_comes_ends_the_run():
    with pytest.raises(HeteroSelectError, match="world: nobody is available at second 40, and nobody comes later"):
        play(world=at_times(None, None, None), server=begin(now=40.0))


def test_a_cohort_is_of_client_numbers_whoever_is_away():
    there = {1, 4, 6}
    world = at_times(*[(0, 1000) if k in there else None for k in range(7)], devices=np.full(7, 0.1) * np.arange(1, 8))
    engine = Script(losses=(9.0, 1.0, 9.0, 9.0, 3.0, 9.0, 2.0), size=8)
    population = Population.new(np.array([1, 10, 1, 1, 20, 1, 70]))
    server = Server(Weights(torch.zeros(8), {}), population)
    score = Informativeness(diversity_weight=0, fairness_weight=0, staleness_weight=0)
    played, _ = play(
        engine=engine, world=world, server=server, order=(2, 0, 1), score=score, weigh=ByData(), allocate=All()
    )
    record = played.record
    assert engine.asked == [1, 4, 6]
    assert record.selected == [order.client for order in engine.orders] == [6, 1, 4]
    assert record.scores == pytest.approx([0.5, 0.0, 1.0])  # losses 2, 1 and 3
    assert record.weights == pytest.approx([0.7, 0.1, 0.2])  # of 70, 10 and 20 examples
    assert played.used == {6: True, 1: True, 4: True}
    # momentum starts at zero, and each client moves its own coordinate
    assert played.server.weights.vector.tolist() == pytest.approx([0, 0.1, 0, 0, 0.2, 0, 0.7, 0])
    assert played.server.population.counts.tolist() == [0, 1, 0, 0, 1, 0, 1]
    assert record.seconds == pytest.approx(50 * 0.7 + 8 * 32e-6), "client 6 is the slowest"


def test_a_selector_may_not_take_who_is_away():
    class Stubborn:
        def select(self, scores, context):
            return replace(context.cohort(np.array([0])), ids=np.array([1]))

    with pytest.raises(HeteroSelectError, match=r"method\.select: it chose \[1\]; choose among the"):
        play(world=at_times((0, 100), None, (0, 100)), select=Stubborn())


# 128 kb at 16 kb/s until second 120 and at 64 kb/s from then on
SLOW_THEN_FAST = LinkTrace((Rates(np.array([0.0, 120.0]), np.array([16e3, 64e3]), 1000.0),))


def test_a_link_that_changes_during_an_upload():
    world = TracedLinks(DrawnWorld(devices=GivenDevices(STEP_SECONDS)), SLOW_THEN_FAST)
    played, _ = play(engine=Script(size=4000), world=world, server=begin(size=4000, now=111.0), allocate=All())
    # client 0 has trained at second 116: 4 s for 64 kb, and 1 s for the other 64; client 1 at second 121: 2 s;
    # client 2 at second 126: 2 s
    assert played.record.seconds == pytest.approx(15 + 2)
    took = played.server.population.reported("seconds")
    assert took.tolist() == pytest.approx([5 + 5, 10 + 2, 15 + 2])
    assert played.record.bandwidth_mbps == pytest.approx([0.016] * 3), "a part knows the present rate only"


def test_who_leaves_before_its_answer_is_there_is_missing():
    # at second 0 all are there; client 1 needs 10 s and has 9, client 2 needs 15 s and has 16
    played, _ = play(world=at_times((0, 100), (0, 9), (0, 16)))
    assert kinds(played) == [(1, "missing")]
    assert played.used == {2: True, 0: True, 1: False}
    assert played.record.weights == pytest.approx([1.0, 0.0, 0.0])  # S = ½, 0, and 1 of the one that left
    assert played.record.bytes.up_clients[2] == 0
    # the server waits as long as the slowest was expected to take
    assert played.record.seconds == pytest.approx(15, abs=1e-3)


@dataclass(frozen=True)
class Twice:
    """A solver that takes two passes over a batch per step."""

    traits = Traits(passes=2.0)
    steps: int = 50
    batch: int = 32

    def run(self, model, job):
        raise NotImplementedError("the clients of these tests do not train")


def test_a_solver_of_two_passes_takes_twice_as_long():
    # the uploads take 128 bits at 1 Mb/s
    world = DrawnWorld(Links(1, 1), GivenDevices(STEP_SECONDS))
    once, twice = (play(world=world, allocate=All(), solver=train)[0] for train in (SGD(), Twice()))
    assert once.record.seconds == pytest.approx(15 + 128e-6)
    assert twice.record.seconds == pytest.approx(30 + 128e-6)
    took = twice.server.population.reported("seconds")
    assert took.tolist() == pytest.approx([10 + 128e-6, 20 + 128e-6, 30 + 128e-6])


def test_two_passes_enter_the_ceiling():
    # T_budget is 15 s: 50 steps of 0.1 s leave 10 s to the link, twice as many passes 5 s; by the strict ceiling
    # θ_cap = B·left/(N·(32 + h(θ)/θ)), here with B such that it binds, and with θ = 0.2 h(θ)/θ = 3.6096
    world = DrawnWorld(Links(2e-6, 2e-6), GivenDevices(np.full(3, 0.1)))
    strict = UniformShare(ceiling="strict", minimum=1e-6)
    found = [play(world=world, allocate=strict, solver=train)[0].record.densities for train in (SGD(), Twice())]
    expected = [2.0 * left / (SIZE * (32 + 3.6096)) for left in (10, 5)]
    assert found[0] == pytest.approx([expected[0]] * 3, rel=1e-4)
    assert found[1] == pytest.approx([expected[1]] * 3, rel=1e-4)


def test_an_allocator_and_a_weigher_know_the_steps_that_are_ordered_and_the_variance():
    # by device 100, 50 and 33 steps take 10, 10 and 9.9 s, so that the last may send for 0.1 s longer; with links of
    # 128 bit/s θ·32·4 bits take θ seconds: θ = 0.2 − 1/30, 0.2 − 1/30 and 0.2 + 2/30
    world = DrawnWorld(Links(128e-6, 128e-6), GivenDevices(STEP_SECONDS))
    parts = {"allocate": Deadline(), "local_steps": DeviceSteps(), "compress": Drive(), "error_feedback": NoMemory()}
    played, engine = play(world=world, weigh=ByVariance(), order=(0, 1, 2), **parts)
    assert [order.steps for order in engine.orders] == [100, 50, 33]
    assert played.record.densities == pytest.approx([1 / 6, 1 / 6, 4 / 15])
    # with a spread of 1 a weight follows the density
    assert played.record.weights == pytest.approx(np.array([1 / 6, 1 / 6, 4 / 15]) / 0.6)
    assert played.record.seconds == pytest.approx(10 + 1 / 6)


def test_a_rate_may_go_by_the_simulated_second_at_which_the_round_begins():
    # a third of the horizon has passed: 0.05 + 0.95·(1 + cos π/3)/2 = 0.7625
    played, engine = play(server=begin(now=100.0), lr=CosineRate(0.2, horizon=300.0))
    assert [order.rate for order in engine.orders] == pytest.approx([0.1525] * 3)
    assert played.record.learning_rate == pytest.approx(0.1525)


@pytest.mark.parametrize("work", [EqualSteps, DeviceSteps])
def test_a_round_at_half_the_rate_may_have_twice_the_steps(work):
    """Half of the horizon has passed, where the rate is 0.525 of the highest; and the clock counts what was ordered."""
    parts = {"lr": CosineRate(0.2, horizon=200.0), "server": begin(now=100.0)}
    plain, longer = (play(local_steps=work(growth), **parts) for growth in (0.0, 1.0))
    before, after = ([order.steps for order in engine.orders] for _, engine in (plain, longer))
    assert after == pytest.approx([steps / 0.525 for steps in before], abs=1)
    assert longer[0].record.seconds > 1.8 * plain[0].record.seconds


def test_two_passes_enter_the_time_budget():
    config = load("mnist").config
    method = Method("mine", allocate=UniformShare(average=0.5), compress=TopK())
    size, streams = 1000, Streams(1)
    once = environment_of(config, method, size, streams).budget_seconds
    twice = environment_of(config, replace(method, solver=Twice()), size, streams).budget_seconds
    # θ·32N/B̄ + H·c̄ with B̄ = 3 Mb/s and c̄ = 0.3 s
    assert once == pytest.approx(0.5 * 32e3 / 3e6 + 50 * 0.3)
    assert twice == pytest.approx(0.5 * 32e3 / 3e6 + 100 * 0.3)


# With real clients, which remember.

TASK = Task(nn.functional.cross_entropy, None)
REMEMBERING = Method(
    "remembering",
    select=Everybody((0, 1, 2, 3, 4, 5)),
    allocate=UniformShare(average=0.3),
    solver=SGD(steps=4, batch=8),
    compress=TopK(),
    error_feedback=ErrorMemory(decay="static", static=1.0),
)


def people(count=6):
    generator = torch.Generator().manual_seed(5)
    y = torch.arange(20) % 3
    return [
        Client(k, Examples(2 * torch.eye(3, 5)[y] + torch.randn(20, 5, generator=generator), y), STREAMS)
        for k in range(count)
    ]


def network():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        return nn.Linear(5, 3)


def learnt(client, weights, round, method=REMEMBERING):
    """What a client learns from this model, all of it."""
    model = FlatModel(network())
    model.load(weights)
    order = Order(client, round, method.lr.eta(Moment(round, 10)), 1.0, 1.0, method.solver.steps)
    upload, _ = Worker(people()[client], model, TASK, method).train(order, {})
    return decode(upload.payload, model.layout.size).dense()


def test_who_leaves_in_the_middle_keeps_what_it_remembered_and_what_it_learnt():
    # 4 steps of 0.1 s; in the second round client 2 leaves after 0.2 s
    world = at_times(*[(0, 0.6) if k == 2 else (0, 100) for k in range(6)], devices=np.full(6, 0.1), links=(5, 5))
    environment = Environment(world, 15.0)
    weights = FlatModel(network()).weights()
    server = Server(weights, Population.new(np.full(6, 20)))
    with Pool(network(), threads=2) as pool:
        engine = Simulator(pool, people(), TASK, REMEMBERING)
        first = play_round(Moment(1, 10), server, REMEMBERING, engine, environment, STREAMS, selected=6)
        assert first.record.events == []
        engine.acknowledge(first.used)
        before = {client: kept["error_feedback.residual"].copy() for client, kept in engine.kept.items()}
        second = play_round(Moment(2, 10), first.server, REMEMBERING, engine, environment, STREAMS, selected=6)
        assert kinds(second) == [(2, "missing")]
        assert second.used == {k: k != 2 for k in range(6)}
        for client, residual in before.items():
            kept = engine.kept[client]["error_feedback.residual"]
            assert kept.tobytes() == residual.tobytes(), "nothing is kept before it is known what arrived"
        engine.acknowledge(second.used)
    whole = before[2] + learnt(2, first.server.weights, 2)
    assert np.count_nonzero(before[2]) > 0
    assert engine.kept[2]["error_feedback.residual"].tolist() == whole.tolist(), "nothing of it is lost"
    sent = np.count_nonzero(engine.kept[3]["error_feedback.residual"] == 0)
    assert sent >= 6, "of the others the six coordinates that were sent are cleared"


def test_some_uploads_are_settled_while_others_are_on_their_way():
    weights = FlatModel(network()).weights()
    orders = [Order(k, 1, 0.05, 0.3, 1.0, 4) for k in (3, 5)]
    with Pool(network(), threads=2) as pool:
        at_once, one_by_one = (Simulator(pool, people(), TASK, REMEMBERING) for _ in range(2))
        for engine in (at_once, one_by_one):
            engine.train(weights, orders, {})
        at_once.acknowledge({3: True, 5: True})
        one_by_one.acknowledge({3: True})
        assert set(one_by_one.kept) == {3}
        # another client trains in between
        one_by_one.train(weights, [Order(4, 2, 0.05, 0.3, 1.0, 4)], {})
        one_by_one.acknowledge({5: True, 0: True})  # and nobody waits for an answer of client 0
        assert set(one_by_one.kept) == {3, 5}
        one_by_one.acknowledge({5: False})  # it is settled already
    for client in (3, 5):
        assert at_once.kept[client].keys() == one_by_one.kept[client].keys() == {"error_feedback.residual"}
        expected = at_once.kept[client]["error_feedback.residual"]
        assert one_by_one.kept[client]["error_feedback.residual"].tobytes() == expected.tobytes()


def test_a_score_share_needs_no_more_than_the_cohorts_conditions():
    """The allocator's ceiling is that of each client of the cohort, in the order drawn."""
    # B·T_budget/(32N) is 30/128 and 60/128 for clients 1 and 2
    trace = LinkTrace(tuple(Rates(np.zeros(1), np.array([rate]), 1.0) for rate in (1e6, 2e3, 4e3)))
    world = TracedLinks(DrawnWorld(devices=GivenDevices(STEP_SECONDS)), trace)
    allocate = ScoreShare(average=0.9, amplitude=0.0)
    record = play(world=world, order=(1, 2, 0), score=Blind(), allocate=allocate, budget=0.015)[0].record
    assert record.densities == pytest.approx([30 / 128, 60 / 128, 0.9])
