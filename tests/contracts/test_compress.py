"""What every compressor promises, shipped or a user's own: bytes and back to the bit, one seed one update, inputs left
alone, what is not finite refused, and the promises that it declares."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from compressing import Codebook, array, assert_same, bowls, normal
from contracts.found import bits, each, stored
from heteroselect.core.traits import traits_of
from heteroselect.parts.compress import QSGD, Curvature, ErrorMemory, Ternary, Update
from heteroselect.parts.compress.wire import decode, encode, table_with

EACH = each(
    "compress",
    Curvature(1, 0.5, "floor"),
    *(QSGD(16, 64), Ternary(11, "energy"), Codebook(), Codebook(5)),
)


def densities(part: Any) -> tuple[float, ...]:
    return (1.0,) if part.kind == "none" else (0.01, 0.2, 1.0)


def sent(part: Any, v: np.ndarray, density: float, *layers: int, seed: int = 0) -> Update:
    return part.compress(v, density if part.kind != "none" else 1.0, bowls(*(layers or (v.size,)), seed=seed))[0]


@EACH
def test_not_a_bit_changes_on_the_way(part: Any) -> None:
    codecs = table_with(getattr(part, "codec", None))
    vectors = (normal(1300), normal(1300) ** 9, array(0, 0, -2), array(-1e-45, 3e37), array(5))
    for v, density in itertools.product(vectors, densities(part)):
        layers = (1000, 300) if v.size == 1300 else (v.size,)
        update = sent(part, v, density, *layers)
        assert update.size == v.size
        assert (update.positions.dtype, update.values.dtype) == (np.int64, np.float32)
        assert_same(decode(encode(update, np.cumsum(layers).tolist()), v.size, codecs), update)


@EACH
def test_one_seed_one_update(part: Any) -> None:
    v = normal(3000)
    assert_same(*(sent(part, v, 0.1, 1000, 2000, seed=3) for _ in range(2)))


@EACH
def test_what_it_is_given_is_left_alone(part: Any) -> None:
    v, state = normal(600), {"mask": np.array([0.3, 0.7])}
    v.setflags(write=False)
    state["mask"].setflags(write=False)
    update, kept = part.compress(v, 1.0, bowls(100, 500, state=state))
    assert not np.shares_memory(update.values, v)
    assert all(not np.shares_memory(array, state["mask"]) for array in kept.values())


@EACH
def test_what_it_keeps_comes_back_from_a_checkpoint(part: Any) -> None:
    """Two rounds, with and without a detour of the state over names and bytes."""
    density = densities(part)[0]
    _, state = part.compress(normal(600), density, bowls(100, 500))
    states = state, stored(state)
    one, other = (part.compress(normal(600, 1), density, bowls(100, 500, seed=1, state=s)) for s in states)
    assert bits(one) == bits(other)


@EACH
def test_a_coordinate_that_is_not_finite_is_refused(part: Any) -> None:
    for bad, density in itertools.product((np.nan, np.inf, -np.inf), densities(part)):
        with pytest.raises(ValueError, match="not finite"):
            sent(part, array(1, bad, 2), density)


@each("compress", only=lambda part: getattr(part, "scale", "") != "step")  # which is sent whatever there is
def test_zero_stays_zero(part: Any) -> None:
    for density in densities(part):
        assert not sent(part, np.zeros(900, np.float32), density, 500, 400).dense().any()


@EACH
def test_all_of_it_is_the_vector_itself_where_values_are_sent_as_they_are(part: Any) -> None:
    v = normal(700)
    update = sent(part, v, 1.0, 400, 300)
    assert (update.coded is not None) == traits_of(part).own_values
    if not traits_of(part).own_values:
        assert update.dense().tolist() == v.tolist()


@each("compress", Codebook(), bounds=False)
def test_the_density_counts_where_it_is_used(part: Any) -> None:
    v = normal(5000)
    if part.kind == "none":
        with pytest.raises(ValueError, match="kind: none sends every coordinate"):
            part.compress(v, 0.99, bowls(5000))
    elif traits_of(part).uses_density:
        assert len(encode(sent(part, v, 0.05))) < 0.6 * len(encode(sent(part, v, 0.5)))
    else:
        assert_same(sent(part, v, 0.01), sent(part, v, 1.0))


@each("compress", QSGD(16, 64), Ternary(11, "energy"), only=lambda part: traits_of(part).unbiased)
@pytest.mark.slow
def test_unbiased_is_right_on_average(part: Any) -> None:
    """Within five standard errors in each coordinate. (None is so small that it would hardly ever be sent.)"""
    v, context, count = normal(128), bowls(128), 1200
    v += np.sign(v) / 2
    density = 0.25 if traits_of(part).uses_density else 1.0
    got = np.stack([part.compress(v, density, context)[0].dense() for _ in range(count)]).astype(np.float64)
    assert (np.abs(got.mean(0) - v) <= 5 * got.std(0) / np.sqrt(count) + 1e-5).all()


@EACH
def test_a_memory_of_what_is_left_stays_bounded_where_it_takes_one(part: Any) -> None:
    """The same update again and again: on average everything arrives (and what is left does not grow)."""
    if not traits_of(part).promises("takes_memory"):
        assert traits_of(part).unbiased or traits_of(part).brings["error_feedback"] == {"kind": "none"}
        return
    memory, kept, arrived, delta = ErrorMemory("static", static=1.0), {}, np.zeros(60), normal(60)
    context, rounds = bowls(20, 40), 300
    for _ in range(rounds):
        v, offered = memory.offer(delta, kept)
        update, state = part.compress(v, 0.25 if traits_of(part).uses_density else 1.0, context)
        context = dataclasses.replace(context, state=state)
        kept = memory.update_state(offered, update, 1.0)
        arrived += update.dense()
    assert np.linalg.norm(arrived / rounds - delta) < 0.15 * np.linalg.norm(delta)


@EACH
def test_a_memory_comes_with_it_where_it_takes_one_and_an_allocation_where_that_counts(part: Any) -> None:
    brings, traits = traits_of(part).brings, traits_of(part)
    keeps = brings.get("error_feedback", {"kind": "none"})["kind"] != "none"
    assert keeps == (traits.promises("takes_memory") and part.kind not in ("none", "codebook"))
    assert ("allocate" in brings) == (traits.uses_density and part.kind not in ("none", "codebook", "drive", "ternary"))
