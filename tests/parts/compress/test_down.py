"""The model on its way down as coded steps: bytes and seconds by hand, bits, and a run that is interrupted."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch

import heteroselect
from heteroselect import Method
from heteroselect.core.conditions import Conditions
from heteroselect.core.flat import Layout, Span, Weights
from heteroselect.core.messages import Upload
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.streams import Streams
from heteroselect.core.trail import DownlinkHistory
from heteroselect.core.update import Update
from heteroselect.parts.aggregate import ByData
from heteroselect.parts.compress import CodedSteps
from heteroselect.parts.compress.wire import decode, encode
from heteroselect.parts.score import Scores
from heteroselect.round.round import play_round
from heteroselect.round.server import Server
from heteroselect.world import Clock, DrawnWorld, Environment
from heteroselect.world.ledger import LOSS_BYTES, Calibrated, Messages

SIZE, STREAMS = 100, Streams(3)
STATISTICS = 2 * 4 + 8  # a mean, a variance and a counter


class Script:
    """Every client of round t sends one coordinate, t, of value t; with `silent` one never answers."""

    def __init__(self, silent=()):
        self.layout = Layout(SIZE, (Span("w", 0, SIZE),), (Span("", 0, SIZE),))
        self.silent, self.sent, self.calibrated = silent, [], []

    def losses(self, weights, questions):
        return [1.0 for _ in questions]

    def train(self, weights, orders, shared):
        self.sent.append(weights)
        uploads = []
        for order in [one for one in orders if one.client not in self.silent]:
            vector = np.zeros(SIZE, np.float32)
            vector[order.round] = order.round
            uploads.append(Upload(order.client, encode(Update.whole(vector)), 10, {"loss": 0.0}))
        return uploads

    def calibrate(self, weights, request):
        self.calibrated.append(weights)
        return weights.buffers


@dataclass(frozen=True)
class InTurn:
    """The clients of each round, as told."""

    cohorts: tuple[tuple[int, ...], ...] = ()

    def select(self, scores, context):
        return context.cohort(np.array(self.cohorts[context.moment.round - 1]))


@dataclass(frozen=True)
class Asks:
    """Asks some clients for their loss in round 4."""

    batches: ClassVar[int] = 1
    augmented: ClassVar[bool] = False
    who: int = 0

    def asks(self, context):
        return np.array([self.who]) if context.moment.round == 4 else context.ids[:0]

    def score(self, context):
        return Scores(context.ids, np.ones(len(context.ids)), {})


def play(cohorts, *, silent=(), buffers=None, **parts):
    """The rounds and the engine."""
    usual = {"select": InTurn(cohorts), "weigh": ByData(), "downlink": CodedSteps("topk", 1 / SIZE)}
    method, engine = Method("mine", **(usual | parts)), Script(silent)
    server = Server(Weights(torch.zeros(SIZE), buffers or {}), Population.new(np.full(3, 320)))
    environment, rounds = Environment(DrawnWorld(), 15.0), []
    for t in range(1, len(cohorts) + 1):
        moment = Moment(t, len(cohorts))
        rounds.append(play_round(moment, server, method, engine, environment, STREAMS, selected=3))
        server = rounds[-1].server
    return rounds, engine


def length(*rounds):
    """The bytes of the steps of these rounds: one value each, at the coordinate of that number."""
    return sum(len(encode(Update(SIZE, np.array([t]), np.array([t], np.float32)), [SIZE])) for t in rounds)


COHORTS = ((0, 1, 2), (0, 1), (0, 1), (0,), (0, 1, 2))


def test_three_clients_over_five_rounds_by_hand():
    """Round 1: the initial model follows from the seed. Then each fetches one step per round since its last one:
    client 2, which is absent for three rounds, four of them, and client 1, which is absent for one, two."""
    rounds, engine = play(COHORTS)
    last = length(4) + length(3, 4) + length(1, 2, 3, 4)
    assert [one.record.bytes.down for one in rounds] == [0, 2 * length(1), 2 * length(2), length(3), last]
    assert rounds[-1].server.of("downlink")["lengths"].tolist() == [length(t) for t in range(1, 6)]
    assert rounds[-1].server.of("downlink")["has"].tolist() == [4, 4, 4]
    # one coordinate per round, none of which is lost: the model is what a model that goes down whole would be
    assert rounds[-1].server.weights.vector[:7].tolist() == [0, 1, 2, 3, 4, 5, 0]
    assert [weights.vector[1:].sum() for weights in engine.sent] == [0, 1, 3, 6, 10]


def test_the_whole_model_is_fetched_where_it_is_smaller():
    """A step has half the values: whoever lacks two fetches the 400 bytes of a model, and so does who lacks more."""
    rounds, _ = play(COHORTS, downlink=CodedSteps("topk", 0.5))
    (one,), (two,), (three,), (four,), (_,) = [line.server.of("downlink")["lengths"].tolist() for line in rounds]
    assert 200 < min(one, two, three, four) < 400, "so that one step is kept at a time"
    assert [line.record.bytes.down for line in rounds] == [0, 2 * one, 2 * two, three, four + 400 + 400]


@pytest.mark.parametrize("coder", ["drive", "ternary"])
def test_every_step_is_coded_with_a_rotation_of_its_own(coder):
    """Errors of the same rotation would add up from round to round instead of cancelling."""
    part = CodedSteps(coder)
    rounds, _ = play(COHORTS, downlink=part)
    payloads = part.trail(rounds[-1].server.of("downlink"), 5, 3, SIZE).payloads
    assert len({decode(one, SIZE).coded.rotation.seed for one in payloads}) == len(payloads) > 1


def test_a_client_that_is_scored_fetches_the_model_then():
    """Client 2 is asked in round 4: it fetches the three steps it lacks, and in round 5 one more."""
    rounds, _ = play(COHORTS, score=Asks(2))
    assert [one.record.bytes.scoring for one in rounds] == [0, 0, 0, length(1, 2, 3) + LOSS_BYTES, 0]
    assert rounds[-1].record.bytes.down == length(4) + length(3, 4) + length(4)


def test_of_a_client_that_did_not_answer_nobody_knows_whether_it_got_the_model():
    """Client 1 is silent: what it lacks grows from round to round. A round of it alone leaves the model as it was, and
    is a step of no bytes."""
    rounds, _ = play(((0, 1), (0, 1), (1,), (0, 1)), silent=(1,))
    lacking = [0, length(1) + length(1), length(1, 2), length(2) + length(1, 2)]
    assert [one.record.bytes.down for one in rounds] == lacking
    assert rounds[-1].server.of("downlink")["lengths"].tolist() == [length(1), length(2), 0, length(4)]
    assert rounds[-1].server.of("downlink")["has"].tolist() == [3, 0, 0]


def test_statistics_go_down_beside_the_steps_and_calibrating_clients_fetch_the_new_step():
    zeros = {"running_mean": torch.zeros(1), "running_var": torch.ones(1), "count": torch.tensor(0)}
    rounds, engine = play(COHORTS, buffers=zeros)
    counts = [3, 2, 2, 1, 3]
    # each of the cohort calibrates, so that it has the newest model: in the next round it fetches only statistics
    assert [one.record.bytes.calibration for one in rounds] == [
        n * (length(t) + 2 * STATISTICS) for t, n in enumerate(counts, start=1)
    ]
    assert [one.record.bytes.down for one in rounds] == [
        3 * STATISTICS,
        2 * STATISTICS,
        2 * STATISTICS,
        STATISTICS,
        length(4) + length(2, 3, 4) + 3 * STATISTICS,
    ]
    assert rounds[-1].server.of("downlink")["has"].tolist() == [5, 5, 5]
    assert rounds[-1].server.weights.trail is None
    assert all(weights.trail is not None for weights in engine.calibrated)


def test_what_the_trail_says_of_single_clients():
    trail = DownlinkHistory(5, (b"aaa", b"", b"bbbb"), np.array([5, 4, 3, 2, 1, 6]), 7)
    assert [trail.steps(client) for client in range(6)] == [(), (b"bbbb",), (b"", b"bbbb"), None, None, None]
    assert trail.bytes().tolist() == [0, 4, 4, 7, 7, 7]
    assert replace(trail, whole=3).bytes().tolist() == [0, 3, 3, 3, 3, 3], "never more than all parameters"
    assert DownlinkHistory(0, (), np.zeros(2, np.int64), 7).bytes().tolist() == [0, 0]


def sent(**changes):
    """Clients 1 and 0, a model of 400 kB of which client 1 lacks 50 kB, client 0 everything and client 2 100 kB."""
    plain = Messages(
        size=100_000,
        model=400_000,
        asked=np.arange(0),
        selected=np.array([1, 0]),
        densities=np.array([0.5, 0.1]),
        payloads=[250_000, 50_000],
        downloads=np.array([400_000, 50_000, 100_000]),
    )
    return replace(plain, **changes)


STEADY = Conditions(
    up=np.array([1e6, 2e6, 1e6]),
    down=np.array([10e6, 20e6, 5e6]),
    step_seconds=np.array([0.1, 0.2, 0.4]),
    available=np.ones(3, bool),
)


def test_ledger_and_clock_charge_each_client_for_what_it_fetches():
    assert sent().bytes().down == 450_000
    assert sent(asked=np.array([1, 2]), shared=10).bytes().down == 450_020
    assert sent(asked=np.array([1, 2])).bytes().scoring == 100_000 + 2 * LOSS_BYTES
    assert sent(calibrated=[Calibrated(2, 1, 80, 7_000), Calibrated(1, 1, 80)]).bytes().calibration == 407_160
    everything = Clock("everything", forward_share=0.5)
    # client 1: 0.4 Mb at 20 Mb/s, ten steps of 0.2 s, 2 Mb at 2 Mb/s; client 0: 3.2 Mb at 10 Mb/s, 1 s, 0.4 Mb up
    np.testing.assert_allclose(everything.spent(sent(), STEADY, 10, 0.0).total, [0.02 + 2 + 1, 0.32 + 1 + 0.4])
    # client 2: 0.8 Mb at 5 Mb/s, a forward pass of 0.2 s, 32 bits at 1 Mb/s
    assert everything.scoring(sent(asked=np.array([1, 2])), STEADY, 1, 0.0) == pytest.approx(0.16 + 0.2 + 32e-6)
    # 0.4 Mb at 5 Mb/s, two passes of 0.2 s, 8 kb at 1 Mb/s; then the whole model to client 1
    turns = sent(calibrated=[Calibrated(2, 2, 1000, 50_000), Calibrated(1, 2, 1000)])
    assert everything.calibration(turns, STEADY, 0.0) == pytest.approx((0.08 + 0.4 + 0.008) + (0.16 + 0.2 + 0.004))


SMALL = {"clients": 6, "selected": 3, "rounds": 5, "method.solver.steps": 3, "method.solver.batch": 8}
STEPS = {"method.downlink.kind": "steps", "simulate.checkpoint_rounds": 1, "world.charge": "everything"}


@pytest.mark.slow
@pytest.mark.parametrize("coder", ["stc", "drive", "ternary"])
def test_a_run_that_was_broken_off_goes_on_to_the_same_bits(tmp_path, coder):
    settings = {**SMALL, **STEPS, "method.downlink.coder": coder, "method.model_average.kind": "tail"}
    whole = heteroselect.run("mnist", settings=settings)

    def stop(line):
        if line["round"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        heteroselect.run("mnist", settings=settings, out=tmp_path / "cut", watch=stop)
    resumed = heteroselect.resume(tmp_path / "cut")
    assert resumed.model_sha256 == whole.model_sha256
    assert resumed.rounds == whole.rounds


@pytest.mark.slow
def test_it_learns_as_well_as_with_the_whole_model_and_fetches_less():
    settings = {"rounds": 20, "method.solver.steps": 10, "evaluate_every": 5, "world.charge": "everything"}
    usual, coded = (heteroselect.run("mnist", method="fedavg", settings={**settings, **one}) for one in ({}, STEPS))
    assert coded.final_accuracy > usual.final_accuracy - 0.02
    assert coded.bytes_down < 0.5 * usual.bytes_down
    assert coded.total_seconds < usual.total_seconds
