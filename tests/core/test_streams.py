"""Randomness: every stream its own, always the same, and torch's global generator never moves."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from heteroselect.core.draws import Draws, drawing_from, seeded_construction, watch_draws
from heteroselect.core.streams import Streams


@pytest.fixture(autouse=True)
def global_generators() -> Iterator[None]:
    """Tests may set torch's and numpy's global state; afterwards it is as before."""
    state = np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(123)
        np.random.seed(123)
        yield
    np.random.set_state(state)


KEYS = list(itertools.product((0, 1, 42, 2**40), ("links", "selection", "batches"), (0, 1, 2), (0, 1, 2)))


def first_numpy(key: tuple[int, str, int, int]) -> bytes:
    seed, purpose, round, client = key
    return Streams(seed).numpy(purpose, round=round, client=client).random(8).tobytes()


def first_torch(key: tuple[int, str, int, int]) -> bytes:
    seed, purpose, round, client = key
    generator = Streams(seed).torch(purpose, round=round, client=client)
    return torch.rand(8, generator=generator).numpy().tobytes()


@pytest.mark.parametrize("first", [first_numpy, first_torch])
def test_streams_of_different_keys_differ_and_of_equal_keys_agree(first: Callable[..., bytes]) -> None:
    found = [first(key) for key in KEYS]
    assert len(set(found)) == len(KEYS)
    assert [first(key) for key in reversed(KEYS)] == found[::-1]


def test_streams_are_not_correlated() -> None:
    """4000 numbers of each of 9 neighbours: every correlation within 4.5 standard errors of zero."""
    streams = Streams(42)
    rows = [streams.numpy("links", round=t, client=k).random(4000) for t in range(3) for k in range(3)]
    off = np.corrcoef(rows)[np.triu_indices(9, 1)]
    assert np.abs(off).max() < 4.5 / np.sqrt(4000)


def test_one_stream_does_not_move_another() -> None:
    streams = Streams(7)
    alone = streams.numpy("links", round=1).random(4).tolist()
    mixed = streams.numpy("links", round=1)
    found = []
    for _ in range(4):
        found.append(mixed.random())
        streams.numpy("selection", round=1).random(100)
        streams.torch("links", round=1)
    assert found == alone


def test_a_streams_numbers_are_those_of_every_release() -> None:
    streams = Streams(42)
    raw = streams.numpy("links", round=3, client=7).bit_generator.random_raw(2)
    assert raw.tolist() == [1643391253251099025, 11987360184934514575]
    assert streams.torch("links", round=3, client=7).initial_seed() == 4912955828343260205


def test_streams_leave_the_global_generators_alone() -> None:
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].tolist()
    Streams(1).numpy("links").random(10)
    torch.rand(10, generator=Streams(1).torch("links"))
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert np.random.get_state()[1].tolist() == numpy_before


# Building a module


def built(seed: int) -> Tensor:
    with seeded_construction(Streams(seed)):
        return nn.Linear(4, 4).weight.detach()


def test_initial_weights_come_from_the_seed_alone() -> None:
    first = built(5)
    torch.manual_seed(999)
    assert torch.equal(built(5), first)
    assert not torch.equal(built(6), first)


def test_construction_that_fails_leaves_the_global_generator_as_it_was() -> None:
    def broken() -> None:
        with seeded_construction(Streams(5)):
            torch.rand(3)
            raise ZeroDivisionError

    before = torch.get_rng_state()
    with pytest.raises(ZeroDivisionError):
        broken()
    assert torch.equal(torch.get_rng_state(), before)


# Random operators inside a model

ONES = torch.ones(4, 6)

with seeded_construction(Streams(0)):
    LSTM = nn.LSTM(6, 5, num_layers=3, dropout=0.5)
    ATTENTION = nn.MultiheadAttention(6, 2, dropout=0.5)


DRAWS: dict[str, Callable[[], Tensor]] = {
    "nn.Dropout": lambda: nn.Dropout(0.5)(ONES),
    "nn.Dropout2d": lambda: nn.Dropout2d(0.5)(torch.ones(8, 8, 2, 2)),
    "nn.AlphaDropout": lambda: nn.AlphaDropout(0.5)(ONES),
    "functional dropout": lambda: functional.dropout(ONES, 0.5),
    "in-place dropout": lambda: functional.dropout(ONES.clone(), 0.5, inplace=True),
    "native dropout": lambda: torch.native_dropout(ONES, 0.5, True)[0],
    "LSTM dropout": lambda: LSTM(ONES)[0].detach(),
    "attention dropout": lambda: ATTENTION(ONES, ONES, ONES)[0].detach(),
    "rrelu": lambda: functional.rrelu(-ONES, training=True),
    "gumbel softmax": lambda: functional.gumbel_softmax(ONES),
    "torch.rand": lambda: torch.rand(3),
    "torch.randn": lambda: torch.randn(2, 3),
    "torch.rand_like": lambda: torch.rand_like(ONES),
    "torch.randn_like": lambda: torch.randn_like(ONES),
    "torch.randint": lambda: torch.randint(0, 2**40, (3,)),
    "torch.randperm": lambda: torch.randperm(40),
    "torch.normal": lambda: torch.normal(ONES, ONES),
    "torch.multinomial": lambda: torch.multinomial(ONES, 6),
    "torch.bernoulli": lambda: torch.bernoulli(ONES / 2),
    "Tensor.uniform_": lambda: torch.empty(3).uniform_(),
    "Tensor.normal_": lambda: torch.empty(3).normal_(),
}
EACH = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())


HIDDEN = Draws(hidden=True)


def drawn(draw: Callable[[], Tensor], seed: int, times: int = 3, draws: Draws | None = None) -> list[Tensor]:
    with drawing_from(Streams(seed).torch("dropout"), draws or watch_draws(draw)):
        return [draw() for _ in range(times)]


def same(a: list[Tensor], b: list[Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


@EACH
def test_an_operator_draws_from_the_generator_given(draw: Callable[[], Tensor]) -> None:
    before = torch.get_rng_state()
    first = drawn(draw, 1)
    assert torch.equal(torch.get_rng_state(), before)
    assert same(drawn(draw, 1, draws=HIDDEN), first)  # watching all operators gives the same numbers
    torch.manual_seed(999)
    assert same(drawn(draw, 1), first)
    assert not same(drawn(draw, 2), first)
    assert not torch.equal(first[0], first[1]) or not torch.equal(first[1], first[2])


@EACH
def test_a_dry_run_finds_the_function_that_draws(draw: Callable[[], Tensor]) -> None:
    before = torch.get_rng_state()
    draws = watch_draws(draw)
    assert draws.functions
    assert not draws.hidden
    assert torch.equal(torch.get_rng_state(), before)


class Scripted(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.dropout(x, 0.5, training=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_draws_hidden_in_torchscript_are_found_and_seeded() -> None:
    scripted = torch.jit.script(Scripted())
    draws = watch_draws(lambda: scripted(ONES))
    assert draws.hidden
    assert same(drawn(lambda: scripted(ONES), 1), drawn(lambda: scripted(ONES), 1))
    assert not same(drawn(lambda: scripted(ONES), 1), drawn(lambda: scripted(ONES), 2))


def test_a_dry_run_finds_that_nothing_was_drawn() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout(0.0), nn.Flatten(), nn.Linear(8, 2))

    def call() -> None:
        model(torch.ones(2, 1, 4, 4)).sum().backward()
        model.eval()
        nn.Sequential(model, nn.Dropout(0.5)).eval()(torch.ones(1, 1, 4, 4))

    assert watch_draws(call) == Draws()


def test_outside_torch_draws_as_ever() -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    first = torch.rand(2)
    with drawing_from(Streams(0).torch("dropout"), HIDDEN):
        torch.rand(5)
    assert torch.cat([first, torch.rand(2)]).tolist() == expected.tolist()


def test_the_values_have_the_right_distribution() -> None:
    with drawing_from(Streams(0).torch("dropout"), HIDDEN):
        kept = functional.dropout(torch.ones(10_000), 0.3)
        uniform = torch.rand(10_000)
    assert kept.unique().tolist() == pytest.approx([0, 1 / 0.7])
    assert float((kept > 0).float().mean()) == pytest.approx(0.7, abs=4 * np.sqrt(0.21 / 10_000))
    assert float(uniform.mean()) == pytest.approx(0.5, abs=4 * np.sqrt(1 / 12 / 10_000))


def test_gradients_flow_through_the_same_mask() -> None:
    x = torch.ones(50, requires_grad=True)
    with drawing_from(Streams(0).torch("dropout"), HIDDEN):
        out = functional.dropout(x, 0.5)
        out.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, out.detach())


@pytest.mark.parametrize("name", ["functional dropout", "native dropout", "LSTM dropout"])
def test_two_threads_do_not_mix(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They draw at the same time, one is held up wherever it seeds, and each sees its own stream only."""
    seed_it = torch.random.manual_seed

    def slowly(seed: int) -> None:
        seed_it(seed)
        time.sleep(0.002)

    monkeypatch.setattr(torch.random, "manual_seed", slowly)
    draw, times = DRAWS[name], 15
    draws = watch_draws(draw)
    alone = [drawn(draw, seed, times) for seed in (1, 2)]
    together: dict[int, list[Tensor]] = {}
    turn = threading.Barrier(2, timeout=20)

    def work(seed: int) -> None:
        def in_step() -> Tensor:
            turn.wait()
            return draw()

        together[seed] = drawn(in_step, seed, times, draws)

    before = torch.get_rng_state()
    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same(together[1], alone[0])
    assert same(together[2], alone[1])
    assert torch.equal(torch.get_rng_state(), before)
