"""The round: Algorithm 1 played by hand against an engine that answers from a script."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from heteroselect import methods
from heteroselect.compress.update import Update
from heteroselect.compress.wire import encode
from heteroselect.errors import HeteroSelectError
from heteroselect.flat import Layout, Span, Weights
from heteroselect.messages import Upload
from heteroselect.moment import Moment
from heteroselect.population import Population
from heteroselect.round import Server, play_round
from heteroselect.score import Informativeness, Scores
from heteroselect.select import Cohort
from heteroselect.streams import Streams
from heteroselect.world import Faults, Links, World
from heteroselect.world.ledger import LOSS_BYTES

SIZE, CLIENTS = 4, 3


class Script:
    """An engine whose clients have fixed losses and always send the same update."""

    layout = Layout(SIZE, (Span("w", 0, SIZE),), (Span("", 0, SIZE),))

    def __init__(self, losses=(1.0, 3.0, 2.0)):
        self.fixed, self.orders, self.asked, self.calibrated = losses, [], [], []

    def losses(self, weights, questions):
        self.asked += [q.client for q in questions]
        return [self.fixed[q.client] for q in questions]

    def train(self, weights, orders, shared):
        self.orders = list(orders)
        uploads = []
        for order in orders:
            vector = np.zeros(SIZE, np.float32)
            vector[order.client] = 1.0
            uploads.append(Upload(order.client, encode(Update.keep(vector, np.arange(SIZE))), 10, {"loss": 0.0}))
        return uploads[::-1]  # a network may answer in any order

    def settle(self, used):
        self.used = set(used)

    def calibrate(self, weights, request):
        self.calibrated.append((request.client, request.batches))
        return {name: value + 1 for name, value in weights.buffers.items()}

    def evaluate(self, weights):
        return float(weights.vector.sum())


class Everybody:
    """All clients, in a fixed order."""

    def __init__(self, order):
        self.order = np.array(order)

    def select(self, scores, here):
        return Cohort(self.order[: here.size], np.ones(here.size))


def play(moment=None, engine=None, *, order=(2, 0, 1), selected=3, buffers=None, server=None, faults=Faults(), **parts):
    engine = engine or Script()
    method = replace(methods.get("heteroselect"), select=Everybody(order), **parts)
    world = World(Links(), np.array([0.1, 0.2, 0.3]), 15.0, faults=faults)
    server = server or Server(Weights(torch.zeros(SIZE), buffers or {}), Population.new(np.array([320, 320, 320])))
    record = play_round(moment or Moment(2, 10), server, method, engine, world, Streams(3), selected=selected)
    return record, server, engine


def test_scores_become_weights_and_the_model_moves_by_them():
    # losses 1, 3, 2 and nothing else known: V′ = S = 0, 1, ½ → weights 0, ⅔, ⅓ (eq. 13)
    record, server, _ = play()
    assert record.selected == [2, 0, 1]
    assert record.scores == pytest.approx([0.5, 0.0, 1.0])
    assert record.weights == pytest.approx([1 / 3, 0.0, 2 / 3])
    # each client moves its own coordinate by 1; momentum starts at zero (eq. 14)
    assert server.weights.vector.tolist() == pytest.approx([0.0, 2 / 3, 1 / 3, 0.0])
    assert server.state["momentum"].tolist() == pytest.approx([0.0, 2 / 3, 1 / 3, 0.0])
    assert record.accuracy == pytest.approx(1.0)


def test_momentum_carries_over():
    _, server, _ = play()
    play(Moment(3, 10), server=server, order=(1, 0, 2), selected=1)
    # M ← ½M + Δ̄ with Δ̄ = e₁; w ← w + M
    assert server.state["momentum"].tolist() == pytest.approx([0.0, 4 / 3, 1 / 6, 0.0])
    assert server.weights.vector.tolist() == pytest.approx([0.0, 2.0, 1 / 2, 0.0])


def test_everyone_is_told_what_the_equations_say():
    record, _, engine = play(Moment(2, 10))
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
    record, _, engine = play(Moment(1, 10))
    assert record.densities == [1.0] * 3
    assert record.theta == 1.0
    assert all(order.warmup for order in engine.orders)


def test_the_clock_waits_for_the_slowest():
    record, _, _ = play()
    steps = {0: 0.1, 1: 0.2, 2: 0.3}
    times = [
        density * 32 * SIZE / (speed * 1e6) + 50 * steps[client]
        for client, density, speed in zip(record.selected, record.densities, record.bandwidth_mbps, strict=True)
    ]
    assert record.seconds == pytest.approx(max(times))


def test_the_ledger_charges_for_what_was_asked():
    record, _, engine = play(selected=1)
    model = 4 * SIZE
    assert sorted(engine.asked) == [0, 1, 2]
    assert record.bytes.up_paper == pytest.approx(record.densities[0] * 4 * SIZE)
    assert record.bytes.up == len(encode(Update.keep(np.zeros(SIZE, np.float32), np.arange(SIZE))))
    assert record.bytes.down == model
    assert record.bytes.scoring == 2 * model + 3 * LOSS_BYTES
    assert record.bytes.calibration == 0


class Blind:
    """A scorer that asks nobody anything."""

    needs: frozenset[str] = frozenset()
    batches, augmented = 1, False

    def asks(self, population, rng):
        return np.arange(0)

    def score(self, population, moment):
        return Scores(np.arange(len(population)), np.ones(len(population)), {})


def test_a_method_that_needs_no_losses_is_not_charged():
    record, _, engine = play(score=Blind())
    assert engine.asked == []
    assert record.bytes.scoring == 0
    assert record.weights == pytest.approx([1 / 3] * 3)


def test_the_population_remembers_who_spoke_and_what():
    _, server, _ = play(selected=2)
    population = server.population
    assert population.counts.tolist() == [1, 0, 1]
    assert population.last_round.tolist() == [2, 0, 2]
    assert sorted(population.uploads) == [0, 2]
    assert population.consensus is not None
    assert population.consensus.tolist() == pytest.approx([0.0, 0.0, 1.0, 0.0])


def test_batch_norm_is_calibrated_at_the_first_drawn():
    buffers = {"bn.running_mean": torch.zeros(2)}
    record, server, engine = play(buffers=buffers)
    assert engine.calibrated == [(2, 7), (0, 7), (1, 6)]
    assert server.weights.buffers["bn.running_mean"].tolist() == [3.0, 3.0]  # each goes on from the one before
    assert record.bytes.calibration == 3 * ((4 * SIZE + 8) + 8)


def test_buffers_that_are_no_statistics_stay():
    record, server, engine = play(buffers={"positions": torch.zeros(2)})
    assert engine.calibrated == []
    assert server.weights.buffers["positions"].tolist() == [0.0, 0.0]
    assert record.bytes.calibration == 0


def test_the_order_of_the_answers_does_not_matter():
    class Straight(Script):
        def train(self, weights, orders, shared):
            return super().train(weights, orders, shared)[::-1]

    assert play()[1].weights.sha256() == play(engine=Straight())[1].weights.sha256()


def test_a_model_that_diverged_is_named_as_such():
    with pytest.raises(HeteroSelectError, match=r"method\.train\.rate: the model diverged before round 2"):
        play(engine=Script(losses=(1.0, float("nan"), 2.0)))


def test_candidates_are_asked_charged_and_selected_among():
    engine = Script()
    record, _, _ = play(engine=engine, order=(1, 0), selected=1, score=Informativeness(mode="candidates", candidates=2))
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
    record, server, _ = play(engine=engine, order=(0, 1), selected=2, score=stale)
    assert record.scores == [0.5, 0.5]  # nothing is known yet
    assert server.population.reported("loss").tolist()[:2] == [5.0, 7.0]
    record, _, _ = play(Moment(3, 10), engine=engine, server=server, score=stale)
    assert engine.asked == []
    assert record.bytes.scoring == 0
    assert record.selected == [2, 0, 1]
    assert record.scores == [1.0, 0.0, 1.0]  # 5 and 7, and 7 for the one never heard


def test_a_stressed_world_knows_all_losses_and_nobody_pays():
    engine = Script()
    method = replace(methods.get("heteroselect"), score=Blind(), select=Everybody((2, 0, 1)))
    world = World(Links(stress="inverse"), np.array([0.1, 0.2, 0.3]), 15.0)
    server = Server(Weights(torch.zeros(SIZE), {}), Population.new(np.array([320] * 3)))
    record = play_round(Moment(2, 10), server, method, engine, world, Streams(3), selected=3)
    # 1 + 4(1 − L/3) for losses 2, 1 and 3
    assert record.bandwidth_mbps == pytest.approx([1 + 4 / 3, 1 + 8 / 3, 1.0])
    assert record.bytes.scoring == 0


# What goes wrong on the way.


def kinds(record):
    return [(event.client, event.kind) for event in record.events]


class Losing(Script):
    """An engine some of whose clients never answer, or answer with something else."""

    def __init__(self, lost=(), **payloads):
        super().__init__()
        self.lost, self.payloads = lost, {int(name.removeprefix("c")): payload for name, payload in payloads.items()}

    def train(self, weights, orders, shared):
        uploads = [upload for upload in super().train(weights, orders, shared) if upload.client not in self.lost]
        return [replace(upload, payload=self.payloads.get(upload.client, upload.payload)) for upload in uploads]


def test_the_round_goes_on_without_those_who_do_not_answer():
    record, server, engine = play(engine=Losing(lost=(2,)))
    assert record.selected == [2, 0, 1]
    assert record.weights == pytest.approx([0.0, 0.0, 1.0])  # S = 0 and 1 are left
    assert server.weights.vector.tolist() == pytest.approx([0.0, 1.0, 0.0, 0.0])
    assert kinds(record) == [(2, "missing")]
    assert engine.used == {0, 1}, "whoever was not heard is told so, and keeps its update"
    assert record.bytes.up_clients[0] == 0
    assert sorted(server.population.uploads) == [0, 1]


def test_a_round_with_nobody_left_leaves_everything_as_it_was():
    _, server, _ = play()
    model, momentum, consensus = server.weights.sha256(), server.state["momentum"], server.population.consensus
    record, _, engine = play(Moment(3, 10), Losing(lost=(0, 1, 2)), server=server)
    assert server.weights.sha256() == model
    assert server.state["momentum"] is momentum
    assert server.population.consensus is consensus
    assert record.weights == [0.0] * 3
    assert engine.used == set()
    assert record.seconds > 0, "the server waited for them all the same"


@pytest.mark.parametrize("payload", [b"", b"HSW", b"\0" * 60])
def test_a_payload_that_is_no_update_never_touches_the_model(payload):
    record, server, engine = play(engine=Losing(c1=payload))
    assert kinds(record) == [(1, "rejected")]
    assert record.weights == pytest.approx([1.0, 0.0, 0.0])
    assert server.weights.vector.tolist() == pytest.approx([0.0, 0.0, 1.0, 0.0])
    assert engine.used == {0, 2}
    assert record.bytes.up_clients[2] == len(payload), "it went over the air all the same"


def test_an_update_far_longer_than_the_others_is_refused():
    vector = np.full(SIZE, 1e6, np.float32)
    record, server, _ = play(engine=Losing(c1=encode(Update.whole(vector))))
    assert kinds(record) == [(1, "rejected")]
    assert "longer" in record.events[0].detail
    assert float(server.weights.vector.abs().max()) <= 1


def test_an_update_that_counts_nothing_is_kept_by_its_sender_where_asked():
    assert play()[2].used == {0, 1, 2}  # client 0 has weight 0
    assert play(keep_unweighted=True)[2].used == {1, 2}


@pytest.mark.parametrize("kind", ["missing", "corrupt", "nan", "inf", "late"])
def test_each_fault_of_the_world_keeps_an_update_out(kind):
    record, server, engine = play(faults=Faults(**{kind: 1.0}, late_factor=4.0))
    expected = "rejected" if kind in ("corrupt", "nan", "inf") else kind
    assert sorted(kinds(record)) == [(k, expected) for k in range(3)]
    assert server.weights.vector.tolist() == [0.0] * SIZE
    assert engine.used == set()


def test_late_answers_may_be_waited_for():
    on_time, _, _ = play()
    record, server, _ = play(faults=Faults(late=1.0, late_rule="wait", late_factor=4.0))
    assert record.events == []
    assert record.seconds == pytest.approx(4 * on_time.seconds)
    assert float(server.weights.vector.sum()) == pytest.approx(1.0)


def test_a_deadline_drops_the_slow():
    # 50 steps take 15, 5 and 10 seconds; the uploads next to nothing
    record, _, _ = play(faults=Faults(deadline=12.0))
    assert kinds(record) == [(2, "late")]
    assert record.seconds == pytest.approx(12.0)


def test_who_is_missing_costs_no_bytes_by_either_count():
    record, _, _ = play(engine=Losing(lost=(0, 1, 2)))
    assert record.bytes.up_paper == 0
    assert record.bytes.up == 0


def test_uploads_are_remembered_by_sketches_where_asked():
    _, server, _ = play(sketch=16)
    assert {update.size for update in server.population.uploads.values()} == {16}
    assert server.population.consensus.shape == (16,)
    assert server.population.cosines().keys() == {0, 1, 2}
