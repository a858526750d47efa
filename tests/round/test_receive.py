"""What arrives: who is asked after training, what the answers take, and what the server accepts."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heteroselect import methods
from heteroselect.core.conditions import Conditions
from heteroselect.core.messages import Upload
from heteroselect.core.moment import Moment
from heteroselect.core.streams import Streams
from heteroselect.core.update import Update
from heteroselect.parts.compress import STC, Drive, Everything, Ternary, TopK
from heteroselect.parts.compress.wire import encode
from heteroselect.parts.score import Informativeness
from heteroselect.parts.score.sketch import sketch
from heteroselect.parts.select import Cohort
from heteroselect.round.method import Method
from heteroselect.round.server import Server
from heteroselect.round.stages import RoundContext
from heteroselect.round.stages.receive import choose, receive, remembered
from heteroselect.world import Clock, DrawnWorld, Environment, Event
from heteroselect.world.ledger import Messages

SIZE, STREAMS = 6, Streams(2)
RATE = 1000.0  # bit/s of every link
MODEL = 100  # bytes


def upload(client, *values, norm=1.0):
    vector = np.zeros(SIZE, np.float32)
    vector[: len(values)] = values
    return Upload(client, encode(Update.whole(vector)), 10, {"norm": norm})


def arrive(uploads, selected, *, densities=None, clock=Clock(), leaves=None, asked=(), size=SIZE, method=Method()):
    """Ten clients that take 0.1 s per pass, and 50 passes each."""
    ids, everybody = np.array(selected), np.ones(10)
    conditions = Conditions(RATE * everybody, RATE * everybody, 0.1 * everybody, everybody > 0, leaves=leaves)
    sent = Messages(
        size,
        MODEL,
        np.array(asked, np.int64),
        ids,
        np.ones(len(ids)) if densities is None else np.array(densities),
        [len(uploads[k].payload) if k in uploads else 0 for k in selected],
    )
    environment, passes = Environment(DrawnWorld(), 15.0, clock), np.full(len(ids), 50.0)
    ctx = RoundContext(Moment(1, 1), Server(None, None), method, None, environment, STREAMS, len(ids))
    seen = SimpleNamespace(now=0.0, conditions=conditions)
    return receive(ctx, seen, uploads, sent, passes)


def test_what_is_whole_is_accepted_and_timed():
    uploads = {7: upload(7, 1.0), 2: upload(2, 0.0, 2.0)}
    found = arrive(uploads, [7, 2], densities=[1.0, 0.5])
    assert list(found.updates) == [7, 2]
    assert found.updates[2].dense().tolist() == [0, 2, 0, 0, 0, 0]
    # 5 s of training, and 32 bits per kept value at 1 kb/s
    assert found.took == pytest.approx({7: 5 + 0.192, 2: 5 + 0.096})
    assert found.timing.own.training == pytest.approx(5.192)
    assert found.events == []
    assert found.sent.payloads == [len(uploads[7].payload), len(uploads[2].payload)]


def test_who_left_is_missing_whatever_it_sent():
    leaves = np.full(10, np.inf)
    leaves[2] = 5.1
    found = arrive({7: upload(7, 1.0), 2: upload(2, 1.0)}, [7, 2], leaves=leaves)
    assert list(found.updates) == [7]
    assert found.events == [Event(2, "missing")]
    assert found.sent.payloads[1] == 0
    assert found.sent.densities.tolist() == [1.0, 0.0]


def test_who_leaves_is_counted_from_the_end_of_scoring_where_that_takes_time():
    """8 batches at a third of 0.1 s, 800 bits down and 32 up: scoring ends at 1.0987 s, and then 5 s of training."""
    payload = 8 * len(upload(2, 1.0).payload) / RATE
    leaves = np.full(10, np.inf)
    scoring = 0.8 + 8 * 0.1 / 3 + 0.032
    for stays, events in ((scoring + 5 + payload + 1e-6, []), (scoring + 5 + payload - 1e-6, [Event(2, "missing")])):
        leaves[2] = stays
        found = arrive({2: upload(2, 1.0)}, [2], leaves=leaves, clock=Clock("everything"), asked=[2, 5])
        assert found.events == events
        assert found.took[2] == pytest.approx(5 + payload), "from the order on, with the model already there"


def test_who_is_not_asked_for_its_update_is_neither_missing_nor_waited_for():
    found = arrive({7: upload(7, 1.0)}, [7, 2], densities=[1.0, 0.0])
    assert found.events == []
    assert list(found.updates) == [7]
    found = arrive({7: upload(7, 1.0)}, [7, 2], densities=[1.0, 0.5])
    assert found.events == [Event(2, "missing")]


def test_events_tell_what_was_wrong():
    broken, long = replace(upload(3), payload=b"nothing"), upload(4, 1e9)
    uploads = {1: upload(1, 1.0), 2: upload(2, 1.0), 3: broken, 4: long}
    found = arrive(uploads, [4, 3, 2, 1])
    assert list(found.updates) == [2, 1]
    assert [(event.client, event.kind) for event in found.events] == [(3, "rejected"), (4, "rejected")]
    assert all(event.detail for event in found.events)
    assert found.sent.payloads[1] == len(b"nothing")


# A second selection, after training.


class FirstTwo:
    """The first two of those who trained, each for so much."""

    def choose(self, ids, norms, data, size, rng):
        self.seen = ids.tolist(), norms.tolist(), data.tolist(), size
        return Cohort(ids[:2][::-1], np.array([0.25, 0.5]), share=np.array([3.0, 4.0]))


SIZES = np.array([10, 20, 30, 40, 50])


def test_a_second_selection_is_among_those_who_trained():
    chooser, cohort = FirstTwo(), Cohort(np.array([4, 0, 2, 1]), np.full(4, 9.0), tau=0.7)
    trained = {k: upload(k, norm=10.0 * k) for k in (1, 2, 4)}  # client 0 never answered
    found, asked = choose(cohort, trained, SIZES, chooser, 5, np.random.default_rng(0))
    assert chooser.seen == ([4, 2, 1], [40.0, 20.0, 10.0], pytest.approx([0.5, 0.3, 0.2]), 3)
    assert asked == [2, 4]
    assert found.ids.tolist() == [4, 0, 2, 1], "in the order drawn"
    assert found.inclusion.tolist() == [0.5, 1.0, 0.25, 1.0]
    assert found.share.tolist() == [4.0, 0.0, 3.0, 0.0]
    assert found.tau == 0.7


def test_where_nobody_trained_nobody_is_asked():
    cohort = Cohort(np.array([4, 0]), np.ones(2))
    assert choose(cohort, {}, SIZES, FirstTwo(), 2, np.random.default_rng(0)) == (cohort, [])


def test_the_server_remembers_an_update_whole_or_by_its_sketch():
    update = Update.whole(np.arange(SIZE, dtype=np.float32))
    assert remembered(update, Method(), STREAMS).values.tolist() == update.values.tolist()
    method = replace(methods.get("heteroselect"), score=Informativeness(sketch=4))
    found = remembered(update, method, STREAMS)
    assert found.size == 4
    assert found.values.tolist() == sketch(update, 4, STREAMS).values.tolist()


LARGE = 10_000
RNG = np.random.default_rng(0)
VECTOR = RNG.standard_normal(LARGE).astype(np.float32)


def sent_by(compress, density):
    context = SimpleNamespace(rng=np.random.default_rng(1))
    return encode(compress.compress(VECTOR, density, context)[0])


def accepted(payload, ordered, compress):
    """Whether the server takes this payload of a client that was ordered so much."""
    method = Method("own", compress=compress)
    uploads = {3: Upload(3, payload, 10, {})}
    found = arrive(uploads, [3], densities=[ordered], size=LARGE, method=method)
    details = ["it sent more than it was allowed to"]
    assert [event.detail for event in found.events] == ([] if 3 in found.updates else details)
    return 3 in found.updates


@pytest.mark.parametrize(("kept", "taken"), [(100, True), (264, True), (265, False)])
def test_who_sends_far_more_coordinates_than_ordered_is_rejected(kept, taken):
    payload = encode(Update.keep(VECTOR, np.arange(kept)))
    assert accepted(payload, 0.01, TopK()) is taken
    assert accepted(payload, 0.01, STC()) is taken
    assert accepted(payload, 0.01, Everything()), "nothing is ordered of one that sends everything"


@pytest.mark.parametrize("compress", [STC(), Drive(), Ternary(), Ternary(spread="energy")])
def test_few_bit_values_are_measured_by_what_was_ordered_too(compress):
    assert accepted(sent_by(compress, 0.1), 0.1, compress)
    assert accepted(sent_by(compress, 1.0), 1.0, compress)
    assert not accepted(sent_by(compress, 1.0), 0.01, compress)
    assert not accepted(encode(Update.whole(VECTOR)), 0.9 if compress != STC() else 0.4, compress)


@given(
    st.integers(1, 40_000),
    st.floats(0.0, 1.0),
    st.integers(8, 16),
    st.floats(0.2, 8.0),
    st.sampled_from(["d", "t", "e"]),
)
@settings(max_examples=60, deadline=None)
def test_no_honest_payload_is_longer_than_its_coder_says(size, density, exponent, spread, kind):
    """Also of vectors of which a few blocks have nearly all of the energy."""
    coder = {"d": Drive(exponent), "t": Ternary(exponent), "e": Ternary(exponent, spread="energy")}[kind]
    rng = np.random.default_rng(size)
    v = (rng.standard_normal(size) * np.exp(-spread * np.arange(size) / 1000)).astype(np.float32)
    payload = encode(coder.compress(v, density, SimpleNamespace(rng=rng))[0])
    assert len(payload) <= coder.longest(size, density)
