"""Random κ: every coordinate has the same chance, and the scaled one is right on average."""

import numpy as np
import pytest

from compressing import array, compress_context, normal
from heteroselect.parts.compress.random_k import RandomK
from heteroselect.parts.compress.topk import Rounding


def draws(part: RandomK, v: np.ndarray, density: float, count: int) -> np.ndarray:
    one = compress_context(v.size)
    return np.stack([part.compress(v, density, one)[0].dense() for _ in range(count)]).astype(np.float64)


def assert_unbiased(part: RandomK, v: np.ndarray, density: float, count: int = 3000) -> None:
    """Within four standard errors in every coordinate."""
    sent = draws(part, v, density, count)
    assert (np.abs(sent.mean(axis=0) - v) <= 4 * sent.std(axis=0) / np.sqrt(count) + 1e-6).all()


def variance(part: RandomK, v: np.ndarray, density: float, count: int = 3000) -> float:
    return float(np.mean(np.sum((draws(part, v, density, count) - v) ** 2, axis=1)))


@pytest.mark.parametrize(("density", "rounding", "kept"), [(0.25, "ceil", 3), (0.25, "floor", 2), (0.0, "ceil", 1)])
def test_exactly_kappa_are_kept_as_they_are(density: float, rounding: Rounding, kept: int) -> None:
    v = normal(10)
    sent = RandomK(rounding).compress(v, density, compress_context(10))[0]
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
    assert RandomK(scaled=scaled).compress(v, 1.0, compress_context(50))[0].dense().tolist() == v.tolist()
