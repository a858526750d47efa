"""Gradient dropping: a sampled threshold keeps about κ of the largest, within its limits."""

import numpy as np
import pytest

from compressing import array, compress_context, normal
from heteroselect.parts.compress.threshold import Threshold
from heteroselect.parts.compress.topk import kept_count, top_positions


@pytest.mark.parametrize("density", [0.1, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_about_kappa_are_kept_of_normal_data(density: float, seed: int) -> None:
    v = normal(1_000_000, seed)
    sent = Threshold().compress(v, density, compress_context(1, seed=seed))[0]
    assert sent.positions.size == pytest.approx(density * v.size, rel=0.1)


@pytest.mark.parametrize("density", [0.01, 0.25, 0.333, 0.9])
def test_a_sample_of_all_is_top_kappa(density: float) -> None:
    """Up to 1000 coordinates are all looked at."""
    v = normal(1000)
    sent = Threshold().compress(v, density, compress_context(1))[0]
    assert sent.positions.tolist() == top_positions(np.abs(v), kept_count(density, v.size)).tolist()


def test_what_is_kept_is_the_largest_as_it_is() -> None:
    v = normal(20_000)
    sent = Threshold().compress(v, 0.1, compress_context(1))[0]
    assert sent.values.tolist() == v[sent.positions].tolist()
    assert sent.positions.tolist() == top_positions(np.abs(v), sent.positions.size).tolist()


def test_at_most_twice_kappa_and_the_lower_index_among_equals() -> None:
    v = np.ones(100, np.float32)
    assert Threshold().compress(v, 0.1, compress_context(1))[0].positions.tolist() == list(range(20))
    v[50] = 2  # the 0.99-quantile lies between the ones and it
    assert Threshold().compress(v, 0.01, compress_context(1))[0].positions.tolist() == [50]


def test_at_least_the_largest() -> None:
    v = array(1, -3, 2)
    assert Threshold().compress(v, 0.0, compress_context(1))[0].dense().tolist() == [0, -3, 0]
    assert Threshold().compress(np.zeros(5, np.float32), 0.5, compress_context(1))[0].positions.tolist() == [0]


def test_zeros_are_not_kept() -> None:
    v = np.zeros(5000, np.float32)
    v[[10, 4000]] = [1e-9, -5]
    sent = Threshold().compress(v, 0.1, compress_context(1))[0]
    assert sent.positions.tolist() == [10, 4000]
