"""Random κ: every coordinate has the same chance, and the scaled one is right on average."""

import numpy as np
import pytest

from compressing import array, assert_same, normal, scene
from heteroselect.compress.random_k import RandomK
from heteroselect.compress.topk import Rounding
from heteroselect.compress.wire import decode, encode


def draws(part: RandomK, v: np.ndarray, density: float, count: int) -> np.ndarray:
    one = scene(v.size)
    return np.stack([part.compress(v, density, one).dense() for _ in range(count)]).astype(np.float64)


def assert_unbiased(part: RandomK, v: np.ndarray, density: float, count: int = 3000) -> None:
    """Within four standard errors in every coordinate."""
    sent = draws(part, v, density, count)
    assert (np.abs(sent.mean(axis=0) - v) <= 4 * sent.std(axis=0) / np.sqrt(count) + 1e-6).all()


def variance(part: RandomK, v: np.ndarray, density: float, count: int = 3000) -> float:
    return float(np.mean(np.sum((draws(part, v, density, count) - v) ** 2, axis=1)))


@pytest.mark.parametrize(("density", "rounding", "kept"), [(0.25, "ceil", 3), (0.25, "floor", 2), (0.0, "ceil", 1)])
def test_exactly_kappa_are_kept_as_they_are(density: float, rounding: Rounding, kept: int) -> None:
    v = normal(10)
    sent = RandomK(rounding).compress(v, density, scene(10))
    assert sent.positions.size == kept
    assert (np.diff(sent.positions) > 0).all()
    assert sent.values.tolist() == v[sent.positions].tolist()


def test_every_coordinate_has_the_same_chance() -> None:
    kept = draws(RandomK(), np.ones(10, np.float32), 0.3, 3000)
    assert kept.mean(axis=0) == pytest.approx(np.full(10, 0.3), abs=4 * np.sqrt(0.3 * 0.7 / 3000))


def test_the_scaled_one_is_without_bias() -> None:
    assert_unbiased(RandomK(scaled=True), normal(8), 0.25)


def test_the_scaled_ones_variance() -> None:
    """(N/κ − 1)‖v‖²; of equal magnitudes in every single draw."""
    v = array(1, -1, 1, -1, 1, 1, 1, -1)
    assert variance(RandomK(scaled=True), v, 0.25, 5) == pytest.approx(3 * 8)
    v = normal(8)
    assert variance(RandomK(scaled=True), v, 0.25) == pytest.approx(3 * float(v @ v), rel=0.1)


def test_the_plain_one_contracts() -> None:
    """E‖C(v) − v‖² = (1 − κ/N)‖v‖²."""
    v = normal(20)
    assert variance(RandomK(), v, 0.2) == pytest.approx(0.8 * float(v @ v), rel=0.02)


@pytest.mark.parametrize("scaled", [False, True])
def test_density_one_sends_all(scaled: bool) -> None:
    v = normal(50)
    assert RandomK(scaled=scaled).compress(v, 1.0, scene(50)).dense().tolist() == v.tolist()


PARTS = pytest.mark.parametrize("part", [RandomK(), RandomK(scaled=True)])


@PARTS
@pytest.mark.parametrize("density", [0.01, 0.2, 1.0])
@pytest.mark.parametrize("v", [normal(1300), normal(1300) ** 9, array(0, 0, -2), array(-1e-45, 3e38), array(5)])
def test_not_a_bit_changes_on_the_way(part: RandomK, density: float, v: np.ndarray) -> None:
    layers = (1000, 300) if v.size == 1300 else (v.size,)
    sent = part.compress(v, density, scene(*layers))
    assert_same(decode(encode(sent, np.cumsum(layers).tolist()), v.size), sent)


@PARTS
def test_one_seed_one_update(part: RandomK) -> None:
    v = normal(3000)
    first, again = (part.compress(v, 0.1, scene(1000, 2000, seed=3)) for _ in range(2))
    assert_same(first, again)
    assert part.compress(v, 0.1, scene(1000, 2000, seed=4)).dense().tobytes() != first.dense().tobytes()


@PARTS
def test_the_vector_is_left_alone(part: RandomK) -> None:
    v = normal(600)
    part.compress(v, 0.1, scene(100, 500))
    assert v.tobytes() == normal(600).tobytes()


@PARTS
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_coordinate_that_is_not_finite_is_refused(part: RandomK, bad: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        part.compress(array(1, bad, 2), 0.5, scene(3))


@PARTS
@pytest.mark.parametrize("density", [0.1, 1.0])
def test_nothing_comes_of_nothing(part: RandomK, density: float) -> None:
    v = np.zeros(900, np.float32)
    sent = part.compress(v, density, scene(500, 400))
    assert not sent.dense().any()
    assert_same(decode(encode(sent, [500, 900]), 900), sent)
