"""Wangni: chances by hand, right on average, and as many sent as wanted."""

import numpy as np
import pytest

from compressing import array, compress_context, normal, variance
from heteroselect.parts.compress.wangni import Wangni, probabilities


@pytest.mark.parametrize(
    ("v", "density", "chances"),
    [
        (array(10, 1, 1, 1, 1), 0.4, [1, 0.25, 0.25, 0.25, 0.25]),
        (array(-10, 1, -1, 1, 1), 0.4, [1, 0.25, 0.25, 0.25, 0.25]),
        (array(1, 1, 1, 1), 0.5, [0.5, 0.5, 0.5, 0.5]),
        (array(2, 1, 1), 1 / 3, [0.5, 0.25, 0.25]),
        (array(100, 10, 1, 1), 0.75, [1, 1, 0.5, 0.5]),  # the second is saturated by a rescaling
        (array(3, 0, 0, 0), 0.5, [1, 0, 0, 0]),
        (array(0, 0), 0.5, [0, 0]),
        (array(0, 0), 1.0, [0, 0]),
        (array(10, 1, 0), 1.0, [1, 1, 0]),
    ],
)
def test_chances_by_hand(v: np.ndarray, density: float, chances: list[float]) -> None:
    assert probabilities(v, density).tolist() == pytest.approx(chances)


@pytest.mark.parametrize("density", [0.01, 0.1, 0.5, 0.9])
def test_chances_add_up_and_follow_the_magnitudes(density: float) -> None:
    v = normal(5000)
    chances = probabilities(v, density)
    assert density * v.size * 0.98 <= chances.sum() <= density * v.size * (1 + 1e-12)
    unsure = chances < 1
    assert np.ptp(chances[unsure] / np.abs(v[unsure])) < 1e-9
    assert np.abs(v[~unsure]).min(initial=np.inf) >= np.abs(v[unsure]).max()


def test_the_number_sent_is_the_one_wanted_on_average() -> None:
    v, one = normal(2000), compress_context(2000)
    sent = [Wangni().compress(v, 0.1, one)[0].positions.size for _ in range(300)]
    expected = probabilities(v, 0.1).sum()
    assert np.mean(sent) == pytest.approx(expected, abs=4 * np.sqrt(expected / 300))
    assert np.std(sent) > 0


def test_its_variance() -> None:
    """Σv²(1/p − 1): four coordinates of 1 at p = 1/4."""
    assert variance(Wangni(), array(10, 1, 1, 1, 1), 0.4) == pytest.approx(12, rel=0.1)


def test_the_sure_ones_are_sent_exactly_and_the_others_all_equally_large() -> None:
    one = compress_context(5)
    for _ in range(20):
        sent = Wangni().compress(array(10, 1, -1, 1, 1), 0.4, one)[0]
        assert sent.positions[0] == 0
        assert sent.values[0] == 10
        assert np.abs(sent.values[1:]).tolist() == [4.0] * (sent.values.size - 1)
