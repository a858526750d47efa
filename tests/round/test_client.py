"""A client on its own: it answers, trains, compresses and remembers, always to the same bit."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from heteroselect import methods
from heteroselect.core.draws import Draws, seeded_construction
from heteroselect.core.flat import FlatModel
from heteroselect.core.messages import Calibrate, Order, Question
from heteroselect.core.state import PartState, State, flat
from heteroselect.core.streams import Streams
from heteroselect.core.update import Update
from heteroselect.data.batches import to_inputs
from heteroselect.data.examples import Examples, Pixels
from heteroselect.errors import HeteroSelectError
from heteroselect.parts.compress import CompressContext, Curvature, TopK
from heteroselect.parts.compress.wire import decode
from heteroselect.parts.train import SGD, Scaffold
from heteroselect.round.client import Client, Learnt, Pending, Task, Worker
from heteroselect.round.method import Method

STREAMS = Streams(11)
TRAIN = SGD(steps=6, batch=8, proximal=0.1)
PLAIN = replace(methods.get("heteroselect"), solver=TRAIN)
CROSS_ENTROPY = nn.functional.cross_entropy


def blobs(count: int = 40, classes: int = 3) -> Examples:
    generator = torch.Generator().manual_seed(count)
    y = torch.arange(count) % classes
    return Examples(3 * torch.eye(classes, 5)[y] + torch.randn(count, 5, generator=generator), y)


def model(build: Callable[[], nn.Module] | None = None) -> FlatModel:
    with seeded_construction(STREAMS):
        default = lambda: nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Dropout(0.3), nn.Linear(6, 3))  # noqa: E731
        return FlatModel((build or default)())


def task(loss: Callable[[Tensor, Tensor], Tensor] = CROSS_ENTROPY, pixels: Pixels | None = None) -> Task:
    return Task(loss, pixels, Draws(frozenset({nn.functional.dropout})))


def client(id: int = 3, examples: Examples | None = None) -> Client:
    return Client(id, examples or blobs(), STREAMS)


def order(**changes: Any) -> Order:
    defaults: dict[str, Any] = {
        "client": 3,
        "round": 2,
        "rate": 0.1,
        "density": 0.3,
        "beta": 1.0,
        "steps": 6,
    }
    return Order(**(defaults | changes))


def question(**changes: Any) -> Question:
    return Question(**({"client": 3, "round": 1, "batches": 2, "size": 8} | changes))


def trained(
    who: Client, method: Method = PLAIN, state: State | None = None, used: bool = True, **changes: Any
) -> tuple[Update, State]:
    """What the client sends when it trains from the initial model, and what it keeps afterwards."""
    start = model()
    upload, pending = Worker(who, start, task(), method).train(order(**changes), state or {})
    assert isinstance(pending, Pending)
    return decode(upload.payload, start.layout.size), pending.commit(method, used)


def sent(who: Client, method: Method = PLAIN, **changes: Any) -> Update:
    return trained(who, method, **changes)[0]


def delta(**changes: Any) -> np.ndarray:
    """What the client learns: all of it, with nothing remembered from before."""
    return sent(client(), **(changes | {"density": 1.0})).dense()


# The question for the loss


def test_the_loss_is_the_mean_over_all_examples_where_that_is_asked_for() -> None:
    flat, who = model(), client()
    flat.module.eval()
    with torch.no_grad():
        expected = float(CROSS_ENTROPY(flat.module(who.examples.x), who.examples.y))
    assert who.loss(question(batches=5), flat, task()) == pytest.approx(expected, rel=1e-6)
    assert who.loss(question(batches=500), flat, task()) == pytest.approx(expected, rel=1e-6)


def asked_subset(who: Client, round: int, batches: int) -> int:
    """The examples the answer is read from, as a set of bits: example i has the loss 2^i."""
    value = lambda _, y: (2.0 ** y.double()).mean()  # noqa: E731
    return round_exactly(who.loss(question(round=round, batches=batches, size=4), model(), task(value)) * 4 * batches)


def round_exactly(value: float) -> int:
    assert value == round(value)
    return int(value)


def test_the_loss_is_the_mean_over_a_fixed_subset() -> None:
    twenty = Examples(torch.zeros(20, 5), torch.arange(20))
    first = asked_subset(client(examples=twenty), round=1, batches=2)
    assert first.bit_count() == 8, "eight examples, each once"
    who = client(examples=twenty)
    assert [asked_subset(who, round, 2) for round in (1, 2, 50)] == [first] * 3
    larger = asked_subset(who, 2, 4)
    assert larger.bit_count() == 16
    assert larger & first == first, "more examples are more of the same"
    assert asked_subset(who, 3, 2) == first
    assert asked_subset(client(4, examples=twenty), 1, 2) != first, "every client draws for itself"


def test_the_question_is_answered_in_evaluation_mode_and_leaves_no_trace() -> None:
    flat = model(lambda: nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 3)))
    flat.module.train()
    before = flat.weights().sha256()
    who = client()
    assert who.loss(question(), flat, task()) == who.loss(question(), flat, task())
    assert flat.weights().sha256() == before
    assert flat.gradient.count_nonzero() == 0


def test_images_are_normalised_and_not_cropped_for_the_question() -> None:
    pixels = Pixels((0.4,), (0.2,), augment=True)
    generator = torch.Generator().manual_seed(0)
    pictures = torch.randint(0, 256, (16, 1, 4, 4), generator=generator, dtype=torch.uint8)
    examples = Examples(pictures, torch.arange(16) % 3)
    flat = model(lambda: nn.Sequential(nn.Flatten(), nn.Linear(16, 3)))
    with torch.no_grad():
        expected = float(CROSS_ENTROPY(flat.module(to_inputs(pictures, pixels)), examples.y))
    who = client(examples=examples)
    found = who.loss(question(batches=8), flat, task(pixels=pixels))
    assert found == pytest.approx(expected, rel=1e-5)
    cropped = who.loss(question(batches=8, augmented=True), flat, task(pixels=pixels))
    assert abs(cropped - expected) > 1e-3


def test_the_authors_question_reads_fresh_batches_each_round() -> None:
    flat, who = model(), client()
    answers = [who.loss(question(round=t, augmented=True), flat, task()) for t in (1, 2, 3)]
    assert len(set(answers)) == 3
    assert who.loss(question(round=2, augmented=True), flat, task()) == answers[1]


@pytest.mark.parametrize(("batches", "seen"), [(1, 1), (3, 3), (5, 5), (8, 5)])
def test_the_authors_question_never_reads_more_than_one_epoch(batches: int, seen: int) -> None:
    calls = []

    def loss(_: Tensor, y: Tensor) -> Tensor:
        calls.append(len(y))
        return torch.tensor(float(len(calls)))

    answer = client().loss(question(batches=batches, augmented=True), model(), task(loss))
    assert calls == [8] * seen
    assert answer == (seen + 1) / 2, "the mean of the batches"


# Training


@pytest.mark.parametrize("compress", [TopK(), Curvature()])
def test_two_equal_trainings_give_equal_bytes(compress: TopK | Curvature) -> None:
    method = replace(PLAIN, compress=compress)
    state: State = {}
    for round in (1, 2, 3):
        ordered = order(round=round, beta=0.9)
        a, pending = Worker(client(), model(), task(), method).train(ordered, state)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(round)  # whatever the rest of the process draws
            b, other = Worker(client(), model(), task(), method).train(ordered, state)
        assert a == b
        assert isinstance(pending, Pending)
        assert isinstance(other, Pending)
        state = pending.commit(method, True)
        assert flat(state).keys() == flat(other.commit(method, True)).keys()
        for name, array in flat(other.commit(method, True)).items():
            assert array.tobytes() == flat(state)[name].tobytes()


def learnt(round: int, build: Callable[[], nn.Module] | None, examples: Examples) -> list[float]:
    """One step of one client, and all it has to say."""
    method, flat = replace(PLAIN, solver=SGD(steps=1, batch=8, proximal=0.1)), model(build)
    worker = Worker(client(examples=examples), flat, task(), method)
    upload, _ = worker.train(order(round=round, density=1.0, steps=1), {})
    values: list[float] = decode(upload.payload, flat.layout.size).values.tolist()
    return values


def test_every_round_has_batches_and_a_dropout_of_its_own() -> None:
    one, two = (learnt(round, lambda: nn.Linear(5, 3), blobs()) for round in (1, 2))
    assert one != two
    lone = blobs(1)  # every batch is the same example eight times over
    one, two = (learnt(round, None, lone) for round in (1, 2))
    assert one != two
    one, two = (learnt(round, lambda: nn.Linear(5, 3), lone) for round in (1, 2))
    assert one == two


def test_another_client_and_another_seed_give_another_update() -> None:
    plain = sent(client(), density=1.0).values.tolist()
    assert sent(client(4), density=1.0).values.tolist() != plain
    assert sent(Client(3, blobs(), Streams(12)), density=1.0).values.tolist() != plain


def test_the_upload_is_what_training_from_the_global_model_gave() -> None:
    """Without dropout, momentum and clip a step is w − η∇: one step on all the client's examples."""
    method = replace(PLAIN, solver=SGD(steps=1, batch=40, momentum=0.0, proximal=0.1, clip=0.0))
    linear = lambda: nn.Linear(5, 3)  # noqa: E731
    flat, who = model(linear), client()
    upload, _ = Worker(who, flat, task(), method).train(order(density=1.0, steps=1), {})
    reference = model(linear)
    loss = reference.backward(CROSS_ENTROPY, who.examples.x, who.examples.y)
    expected = -0.1 * reference.gradient
    assert decode(upload.payload, 18).values.tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    assert (upload.client, upload.examples) == (3, 40)
    assert upload.report["loss"] == pytest.approx(float(loss), rel=1e-5)
    assert upload.report["norm"] == pytest.approx(float(expected.norm()), rel=1e-5)
    assert upload.report["memory"] == pytest.approx(0.0, abs=1e-6)


class Onlooker:
    """A compressor that keeps the context it is shown."""

    def __init__(self) -> None:
        self.seen: list[CompressContext] = []

    def compress(self, v: np.ndarray, density: float, context: CompressContext) -> tuple[Update, PartState]:
        self.seen.append(context)
        return TopK().compress(v, density, context)[0], {"visits": context.state.get("visits", np.zeros(1)) + 1}


def test_the_compressor_is_shown_the_clients_scene_and_has_randomness_of_its_own() -> None:
    onlooker, who = Onlooker(), client()
    method = replace(PLAIN, compress=onlooker, solver=SGD(steps=2, batch=8, proximal=0.7))
    before: list[PartState] = []
    state: State = {}
    for round in (1, 2):
        before.append(state.get("compress", {}))
        state = trained(who, method, state, round=round, warmup=round == 1)[1]
    assert [kept.get("visits") for kept in before] == [None, 1]
    assert state["compress"]["visits"] == 2
    for round, kept, context in zip((1, 2), before, onlooker.seen, strict=True):
        assert context.state is kept or context.state == kept == {}, "what the compressor kept, and nobody else's"
        assert context.warmup is (round == 1)
        assert context.proximal == 0.7
        assert context.rng.random() == STREAMS.numpy("layers", round=round, client=3).random()
        assert context.generator.initial_seed() == STREAMS.torch("probe", round=round, client=3).initial_seed()


# What it remembers


def residual(state: State) -> np.ndarray:
    """e of eq. 9."""
    return state["error_feedback"]["residual"]


def test_at_beta_one_nothing_is_lost() -> None:
    state: State = {}
    for round in (2, 3, 4):
        before = residual(state) if state else np.float32(0)
        update, state = trained(client(), state=state, round=round)
        assert (update.dense() + residual(state)).tolist() == (delta(round=round) + before).tolist()
        assert residual(state).dtype == np.float32
        assert np.count_nonzero(residual(state)) > 0


def test_an_upload_that_was_not_used_stays_with_the_client() -> None:
    _, state = trained(client(), round=2, used=False)
    assert residual(state).tolist() == delta(round=2).tolist()
    update, after = trained(client(), state=state, round=3)
    assert (update.dense() + residual(after)).tolist() == (delta(round=3) + residual(state)).tolist()


def test_memory_is_beta_times_what_was_not_sent() -> None:
    update, state = trained(client(), beta=0.75)
    assert residual(state).tolist() == (np.float32(0.75) * (delta() - update.dense())).tolist()


def test_the_client_says_how_much_it_keeps_back() -> None:
    upload, _ = Worker(client(), model(), task(), PLAIN).train(order(), {})
    update = decode(upload.payload, 57)
    assert upload.report["memory"] == pytest.approx(float(np.linalg.norm(delta() - update.dense())), rel=1e-4)


@pytest.mark.parametrize("used", [True, False])
def test_the_mask_is_the_kept_fraction_of_each_layer(used: bool) -> None:
    update, state = trained(client(), used=used)
    first = sum(position < 36 for position in update.positions.tolist())
    assert state["compress"]["mask"].tolist() == [first / 36, (18 - first) / 21]


# What goes wrong


@pytest.mark.parametrize("cause", ["rate", "data"])
def test_training_that_diverges_names_the_setting(cause: str) -> None:
    examples = blobs()
    if cause == "data":
        examples.x[5] = torch.nan
    state: State = {"error_feedback": {"residual": np.ones(57, np.float32)}, "compress": {"mask": np.ones(2)}}
    who = client(examples=examples)
    rate = 1e38 if cause == "rate" else 0.1
    with pytest.raises(HeteroSelectError, match=r"method\.lr\.start: training diverged at client 3 in round 2"):
        Worker(who, model(), task(), PLAIN).train(order(rate=rate), state)
    assert residual(state).tolist() == [1.0] * 57, "what it remembered is not spoilt"


# Batch-norm statistics


def normed() -> nn.Module:
    return nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 3), nn.Dropout(0.5))


def test_calibration_changes_the_statistics_only() -> None:
    flat, who = model(normed), client()
    vector = flat.vector.clone()
    found = who.calibrate(Calibrate(3, 1, batches=2, size=8), flat, task())
    assert torch.equal(flat.vector, vector)
    assert flat.gradient.count_nonzero() == 0
    assert set(found) == {"0.running_mean", "0.running_var", "0.num_batches_tracked"}
    assert found["0.running_mean"].count_nonzero() == 5


def test_calibration_goes_on_from_the_statistics_received() -> None:
    flat, who = model(normed), client()
    received = flat.weights()
    received.buffers["0.running_mean"].fill_(10)
    received.buffers["0.num_batches_tracked"].fill_(4)
    flat.load(received)
    found = who.calibrate(Calibrate(3, 1, batches=2, size=40), flat, task())
    mean = who.examples.x.mean(0)
    expected = 0.9 * (0.9 * 10 + 0.1 * mean) + 0.1 * mean
    assert found["0.running_mean"].tolist() == pytest.approx(expected.tolist(), rel=1e-5)
    assert found["0.num_batches_tracked"] == 6


# Updates that are held until they are asked for


@pytest.mark.parametrize("compress", [TopK(), Curvature()])
def test_a_client_that_holds_its_update_says_how_long_it_is_and_keeps_it_until_asked(
    compress: TopK | Curvature,
) -> None:
    method = replace(PLAIN, compress=compress)
    build = lambda: nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))  # noqa: E731
    state = {"error_feedback": {"residual": np.full(57, 0.01, np.float32)}}
    at_once, pending = Worker(client(), model(build), task(), method).train(order(), state)
    first, held = Worker(client(), model(build), task(), method).train(order(hold=True), state)
    assert isinstance(held, Learnt)
    assert first.payload == b""
    assert first.report["norm"] == at_once.report["norm"]
    later, after = Worker(client(), model(build), task(), method).give(held, state)
    assert later == at_once, "nothing happened to it in between"
    assert isinstance(pending, Pending)
    assert residual(after.commit(method, True)).tobytes() == residual(pending.commit(method, True)).tobytes()


# A solver with a half at the server


def test_a_correction_moves_only_once_the_update_was_used() -> None:
    method = replace(methods.get("scaffold"), solver=Scaffold(steps=6, batch=8))
    control = np.full(57, 0.1, np.float32)
    state, shared = {"solver": {"control": control}}, {"control": np.full(57, 0.3, np.float32)}
    upload, pending = Worker(client(), model(), task(), method).train(order(density=1.0), state, shared)
    assert isinstance(pending, Pending)
    assert pending.commit(method, False) == state
    moved = pending.commit(method, True)["solver"]["control"]
    # c_k ← c_k − c − Δ/(Hη) with six steps at 0.1
    expected = 0.1 - 0.3 - decode(upload.payload, 57).dense() / 0.6
    assert moved.tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    assert np.array_equal(control, np.full(57, 0.1, np.float32)), "what it trained with is left alone"
