"""Random κ: every coordinate has the same chance."""

import numpy as np
import pytest

from compressing import compress_context, draws, normal, variance
from heteroselect.parts.compress.random_k import RandomK


@pytest.mark.parametrize(("density", "kept"), [(0.25, 3), (0.0, 1), (1.0, 10)])
def test_exactly_kappa_are_kept_as_they_are(density: float, kept: int) -> None:
    v = normal(10)
    sent = RandomK().compress(v, density, compress_context(10))[0]
    assert sent.positions.size == kept
    assert (np.diff(sent.positions) > 0).all()
    assert sent.values.tolist() == v[sent.positions].tolist()


def test_every_coordinate_has_the_same_chance() -> None:
    kept = draws(RandomK(), np.ones(10, np.float32), 0.3)
    assert kept.mean(axis=0) == pytest.approx(np.full(10, 0.3), abs=4 * np.sqrt(0.3 * 0.7 / 3000))


def test_it_contracts() -> None:
    """E‖C(v) − v‖² = (1 − κ/N)‖v‖²."""
    v = normal(20)
    assert variance(RandomK(), v, 0.2) == pytest.approx(0.8 * float(v @ v), rel=0.02)
