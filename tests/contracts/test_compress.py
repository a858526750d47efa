"""What every compressor promises, shipped or a user's own: bytes and back to the bit, one seed one update, inputs left
alone, what is not finite refused, and the promises that it declares."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from compressing import Codebook, array, assert_equal, assert_same, bowls, normal
from heteroselect.core.part import check
from heteroselect.core.state import by_role, flat
from heteroselect.core.traits import traits_of
from heteroselect.parts.compress import (
    COMPRESSORS,
    MEMORIES,
    QSGD,
    STC,
    Curvature,
    Drive,
    ErrorMemory,
    Everything,
    Luar,
    RandomK,
    Sign,
    Ternary,
    TernGrad,
    Threshold,
    TopK,
    Update,
    Wangni,
)
from heteroselect.parts.compress.wire import decode, encode, table_with

PARTS: list[Any] = [
    Everything(),
    TopK(),
    TopK("floor"),
    Curvature(),
    Curvature(1, 0.5, "floor"),
    RandomK(),
    Threshold(),
    Wangni(),
    QSGD(),
    QSGD(1),
    QSGD(16, 64),
    QSGD(127),
    TernGrad(),
    TernGrad(clip=0),
    Sign(),
    Sign("step"),
    STC(),
    STC("ceil"),
    Drive(),
    Drive(7),
    Ternary(),
    Ternary(11, "energy"),
    Luar(),
    Codebook(),
    Codebook(5),
]
EACH = pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part)[:60])
RANDOM = ("random-k", "threshold", "wangni", "qsgd", "terngrad", "drive", "ternary")
FIXED = Sign("step")  # which sends its step whatever it is given


def densities(part: Any) -> tuple[float, ...]:
    return (1.0,) if part.kind == "none" else (0.01, 0.2, 1.0)


def sent(part: Any, v: np.ndarray, density: float, *layers: int, seed: int = 0) -> Update:
    return part.compress(v, density if part.kind != "none" else 1.0, bowls(*(layers or (v.size,)), seed=seed))[0]


def test_every_kind_is_here() -> None:
    assert {type(part) for part in PARTS} == {*COMPRESSORS, Codebook}
    assert len({kind.kind for kind in COMPRESSORS}) == len(COMPRESSORS)


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
    first, again, other = (sent(part, v, 0.1, 1000, 2000, seed=seed) for seed in (3, 3, 4))
    assert_same(first, again)
    if part.kind in RANDOM:
        assert first.dense().tobytes() != other.dense().tobytes()
    elif part.kind != "curvature":  # which layers it probes is drawn
        assert_same(first, other)


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
    stored = {
        name: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape) for name, a in flat({"compress": state}).items()
    }
    back = by_role(stored).get("compress", {})
    one, other = (part.compress(normal(600, 1), density, bowls(100, 500, seed=1, state=s)) for s in (state, back))
    assert_same(one[0], other[0])
    assert_equal(dict(one[1]), dict(other[1]))
    assert list(state) == (["mask"] if part.kind == "curvature" else [])


@EACH
def test_a_coordinate_that_is_not_finite_is_refused(part: Any) -> None:
    for bad, density in itertools.product((np.nan, np.inf, -np.inf), densities(part)):
        with pytest.raises(ValueError, match="not finite"):
            sent(part, array(1, bad, 2), density)


@pytest.mark.parametrize("part", [part for part in PARTS if part != FIXED], ids=lambda part: str(part)[:60])
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


@EACH
def test_the_density_counts_where_it_is_used(part: Any) -> None:
    v = normal(5000)
    if part.kind == "none":
        with pytest.raises(ValueError, match="kind: none sends every coordinate"):
            part.compress(v, 0.99, bowls(5000))
    elif traits_of(part).uses_density:
        assert len(encode(sent(part, v, 0.05))) < 0.6 * len(encode(sent(part, v, 0.5)))
    else:
        assert_same(sent(part, v, 0.01), sent(part, v, 1.0))


@pytest.mark.parametrize("part", [part for part in PARTS if traits_of(part).unbiased], ids=str)
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
def test_its_declarations_hold_together(part: Any) -> None:
    check(part)
    assert type(part)() == type(part)(), "every setting has a default"
    brings = traits_of(part).brings
    kinds = {kind.kind: kind for kind in MEMORIES}
    memory = dict(brings.get("error_feedback", {"kind": "none"}))
    made = kinds[memory.pop("kind")](**memory)
    check(made)
    keeps = traits_of(made).keeps
    assert keeps == (traits_of(part).promises("takes_memory") and part.kind not in ("none", "codebook"))
    assert not (traits_of(part).unbiased and keeps)
    assert ("allocate" in brings) == (
        traits_of(part).uses_density and part.kind not in ("drive", "ternary")
    ) or isinstance(part, Codebook)
