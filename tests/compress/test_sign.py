"""Signs: one bit a coordinate, and an error that is known exactly."""

from typing import Literal

import numpy as np
import pytest

from compressing import array, assert_same, normal, scene
from heteroselect.compress.sign import Sign
from heteroselect.compress.wire import decode, encode


def test_signs_by_hand() -> None:
    v = array(3, -1, 2, -10, 0, 20)
    assert Sign().compress(v, 0.1, scene(3, 3)).dense().tolist() == [2, -2, 2, -10, 10, 10]
    fixed = Sign("step", 0.5).compress(v, 0.1, scene(3, 3)).dense()
    assert fixed.tolist() == [0.5, -0.5, 0.5, -0.5, 0.5, 0.5]


@pytest.mark.parametrize("way", ["mean", "step"])
def test_zero_counts_as_positive_and_nothing_else_does(way: Literal["mean", "step"]) -> None:
    sent = Sign(way, 1.0).compress(array(0, -0.0, 1e-45, -1e-45, 1e-30, -1e-30, 3e38, -3e38), 0.1, scene(8))
    assert np.sign(sent.values).tolist() == [1, 1, 1, -1, 1, -1, 1, -1]


def test_the_error_is_known_exactly() -> None:
    """(1 − φ)‖v‖² with φ = ‖v‖₁²/(N‖v‖²), layer by layer."""
    v = normal(1000)
    sent = Sign().compress(v, 0.1, scene(300, 700)).dense()
    for part in (slice(0, 300), slice(300, 1000)):
        layer = v[part].astype(np.float64)
        square, count = float(layer @ layer), layer.size
        phi = np.abs(layer).sum() ** 2 / (count * square)
        error = float(np.sum((layer - sent[part]) ** 2))
        assert error == pytest.approx((1 - phi) * square, rel=1e-6)


def test_equal_magnitudes_are_sent_without_loss() -> None:
    v = np.where(normal(100) > 0, np.float32(0.1), np.float32(-0.1))
    assert Sign().compress(v, 0.1, scene(60, 40)).dense().tolist() == v.tolist()


def test_one_bit_a_coordinate() -> None:
    v = normal(8000)
    assert len(encode(Sign().compress(v, 0.1, scene(5000, 3000)), [5000, 8000])) == 27 + 2 * 8 + 1000
    assert len(encode(Sign("step").compress(v, 0.1, scene(5000, 3000)), [5000, 8000])) == 27 + 8 + 1000


def test_the_density_is_not_looked_at() -> None:
    v = normal(100)
    assert_same(Sign().compress(v, 0.01, scene(100)), Sign().compress(v, 1.0, scene(100)))


def test_a_mean_of_nothing_is_nothing_and_a_step_is_a_step() -> None:
    v = np.zeros(10, np.float32)
    sent = Sign().compress(v, 0.1, scene(4, 6))
    assert not sent.dense().any()
    assert_same(decode(encode(sent, [4, 10]), 10), sent)
    assert Sign("step", 0.25).compress(v, 0.1, scene(4, 6)).dense().tolist() == [0.25] * 10


PARTS = pytest.mark.parametrize("part", [Sign(), Sign("step")])


@PARTS
@pytest.mark.parametrize("density", [0.01, 0.2, 1.0])
@pytest.mark.parametrize("v", [normal(1300), normal(1300) ** 9, array(0, 0, -2), array(-1e-45, 3e38), array(5)])
def test_not_a_bit_changes_on_the_way(part: Sign, density: float, v: np.ndarray) -> None:
    layers = (1000, 300) if v.size == 1300 else (v.size,)
    sent = part.compress(v, density, scene(*layers))
    assert_same(decode(encode(sent, np.cumsum(layers).tolist()), v.size), sent)


@PARTS
def test_one_seed_one_update(part: Sign) -> None:
    v = normal(3000)
    first, again = (part.compress(v, 0.1, scene(1000, 2000, seed=3)) for _ in range(2))
    assert_same(first, again)
    assert_same(part.compress(v, 0.1, scene(1000, 2000, seed=4)), first)


@PARTS
def test_the_vector_is_left_alone(part: Sign) -> None:
    v = normal(600)
    part.compress(v, 0.1, scene(100, 500))
    assert v.tobytes() == normal(600).tobytes()


@PARTS
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_coordinate_that_is_not_finite_is_refused(part: Sign, bad: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        part.compress(array(1, bad, 2), 0.5, scene(3))
