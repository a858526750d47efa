"""Gradient dropping: a sampled threshold keeps about κ of the largest, within its limits."""

import numpy as np
import pytest

from compressing import array, compress_context, normal
from heteroselect.parts.compress.memory import ErrorMemory
from heteroselect.parts.compress.threshold import Threshold
from heteroselect.parts.compress.topk import kept_count, top_positions


@pytest.mark.parametrize(("sample", "density"), [(0.01, 0.1), (0.01, 0.3), (0.1, 0.01)])
@pytest.mark.parametrize("seed", range(3))
def test_about_kappa_are_kept_of_normal_data(sample: float, density: float, seed: int) -> None:
    v = normal(1_000_000, seed)
    sent = Threshold(sample).compress(v, density, compress_context(1, seed=seed))[0]
    assert sent.positions.size == pytest.approx(density * v.size, rel=0.1)


@pytest.mark.parametrize("density", [0.01, 0.25, 0.333, 0.9])
def test_a_sample_of_all_is_top_kappa(density: float) -> None:
    """Up to 1000 coordinates are all looked at; so are they where the sample is all."""
    for v, part in ((normal(1000), Threshold()), (normal(3000), Threshold(1.0))):
        sent = part.compress(v, density, compress_context(1))[0]
        assert sent.positions.tolist() == top_positions(np.abs(v), kept_count(density, v.size)).tolist()


def test_what_is_kept_is_the_largest_as_it_is() -> None:
    v = normal(20_000)
    sent = Threshold().compress(v, 0.1, compress_context(1))[0]
    assert sent.values.tolist() == v[sent.positions].tolist()
    assert sent.positions.tolist() == top_positions(np.abs(v), sent.positions.size).tolist()


def test_nothing_is_lost_with_a_memory() -> None:
    memory, one = ErrorMemory(decay="static", static=1.0), compress_context(1)
    kept, total, arrived = {}, np.zeros(2000), np.zeros(2000)
    for turn in range(10):
        delta = normal(2000, turn)
        v, offered = memory.offer(delta, kept)
        sent = Threshold().compress(v, 0.05, one)[0]
        kept = memory.update_state(offered, sent, 1.0)
        total += delta
        arrived += sent.dense()
    assert arrived + kept["residual"] == pytest.approx(total, abs=1e-5)


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


def test_density_one_sends_all() -> None:
    v = normal(5000)
    assert Threshold().compress(v, 1.0, compress_context(1))[0].dense().tolist() == v.tolist()
