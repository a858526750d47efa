"""What every coding of values promises, shipped or a user's own: positions stay, the values are what arrives, to the
bit, and what was sent once is not rounded again."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compressing import assert_same, normal
from contracts.found import each
from heteroselect.core.part import FieldError, check
from heteroselect.parts.compress import UniformValues, Update
from heteroselect.parts.compress.codecs.grid import Grid
from heteroselect.parts.compress.wire import decode, encode

LAYERS = [100, 400, 1000]


MORE = UniformValues(8, "nearest"), UniformValues(2, "nearest")
EACH = each("quantize", *MORE)


def update(kept: int = 300, seed: int = 0) -> Update:
    positions = np.sort(np.random.default_rng(seed).choice(1000, kept, replace=False))
    return Update(1000, positions, normal(kept, seed))


def apply(part: Any, given: Update, seed: int = 0) -> Update:
    return part.apply(given, LAYERS, np.random.default_rng(seed))


@EACH
@pytest.mark.parametrize("kept", [0, 1, 300, 1000])
def test_what_arrives_is_what_was_said_to_arrive(part: Any, kept: int) -> None:
    given = update(kept)
    sent = apply(part, given)
    assert sent.positions.tolist() == given.positions.tolist()
    assert sent.values.dtype == np.float32
    if sent.coded is not None:
        assert sent.coded.values().tobytes() == sent.values.tobytes()
    assert_same(decode(encode(sent, LAYERS), 1000), sent)


@EACH
def test_a_value_takes_its_bits(part: Any) -> None:
    """And a bucket eight bytes more."""
    assert 1 <= part.bits <= 32
    sent = apply(part, update(1000))
    buckets = sent.coded.ends.size if isinstance(sent.coded, Grid) else 0
    assert len(encode(sent, LAYERS)) == 27 + 8 * buckets + 1000 * part.bits // 8


@EACH
def test_one_seed_one_answer_and_inputs_left_alone(part: Any) -> None:
    given = update()
    given.values.setflags(write=False)
    first, again, other = (apply(part, given, seed) for seed in (1, 1, 2))
    assert_same(first, again)
    random = part.kind == "uniform" and part.rounding == "random"
    assert (first.values.tobytes() != other.values.tobytes()) == random


@EACH
def test_values_on_the_grid_stay_as_they_are(part: Any) -> None:
    """A value that arrived once is not rounded anew. (Rounding at random may take what float32 lost at a level.)"""
    if part.kind == "uniform":
        part = replace(part, rounding="nearest")
    once = apply(part, update())
    assert apply(part, replace(once, coded=None)).values.tobytes() == once.values.tobytes()


@EACH
def test_no_value_is_further_off_than_its_coding_allows(part: Any) -> None:
    given = update()
    error = np.abs(apply(part, given).values - given.values).max()
    largest = float(np.abs(given.values).max())
    steps = {"float32": 0.0, "float16": 2**-11, "bfloat16": 2**-8}
    allowed = steps[part.kind] if part.kind in steps else 2 / ((1 << part.bits) - 1)
    assert error <= allowed * largest + 1e-6


@EACH
def test_zeros_stay_zeros(part: Any) -> None:
    assert not apply(part, Update(1000, np.arange(7), np.zeros(7, np.float32))).values.any()


@EACH
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(part: Any, bad: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        apply(part, Update(1000, np.array([3, 500]), np.array([1, bad], np.float32)))


def test_other_bits_are_refused() -> None:
    with pytest.raises(FieldError, match="bits: allowed is 2, 3, 4 or 8"):
        check(UniformValues(5))  # type: ignore[arg-type]
