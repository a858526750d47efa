"""Robust aggregates, by hand and beside a hostile client."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heteroselect.core.update import Update
from heteroselect.parts.aggregate import GeometricMedian, Mean, Median, MultiKrum, Screen, TrimmedMean, robust

ROBUST = [Median(), TrimmedMean(), GeometricMedian(), MultiKrum()]


def updates(*rows) -> list[Update]:
    return [Update.whole(np.array(row, np.float32)) for row in rows]


def of(part, rows, weights=None):
    rows = updates(*rows)
    weights = np.full(len(rows), 1 / len(rows)) if weights is None else np.array(weights, float)
    return part.aggregate(rows, weights, rows[0].size)


def test_the_median_of_each_coordinate_by_hand():
    assert of(Median(), [[1, 9], [2, 8], [30, -7]]).tolist() == [2, 8]
    assert of(Median(), [[1], [2], [4], [100]]).tolist() == [3]  # between the two in the middle
    # who has no weight does not take part, and the sum of the weights scales
    assert of(Median(), [[1], [2], [3], [100]], [0.5, 0.5, 1, 0]).tolist() == [4]


def test_the_trimmed_mean_of_each_coordinate_by_hand():
    rows = [[1], [2], [3], [4], [500]]
    assert of(TrimmedMean(0.1), rows).tolist() == [3]  # ⌈½⌉ = 1 at each end
    assert of(TrimmedMean(0.4), rows).tolist() == [3]
    assert of(TrimmedMean(0.0), rows).tolist() == of(Mean(), rows).tolist() == [102]
    assert of(TrimmedMean(0.4), [[1], [3]]).tolist() == [2]  # nothing is left to cut


def test_the_share_cut_is_rounded_up_but_not_by_rounding():
    # 0.07·100 is 7.000000000000001 in double precision: seven at each end, not eight
    rows = [[0]] * 7 + [[7]] + [[1]] * 85 + [[100]] * 7
    assert_allclose(of(TrimmedMean(0.07), rows), (85 + 7) / 86, rtol=1e-6)


def test_the_geometric_median_on_a_line_is_the_weighted_median(monkeypatch):
    monkeypatch.setattr(robust, "ITERATIONS", 200)
    rows = [[0.0], [1.0], [10.0]]
    assert_allclose(of(GeometricMedian(), rows), 1, atol=1e-3)
    assert_allclose(of(GeometricMedian(), rows, [3, 1, 1]), 0, atol=1e-3)
    assert_allclose(of(GeometricMedian(), rows, [1, 1, 3]), 50, rtol=1e-3)  # times Σ = 5


def test_the_geometric_median_of_a_square_with_its_centre():
    corners = [[0, 0], [2, 0], [0, 2], [2, 2]]
    assert_allclose(of(GeometricMedian(), corners), [1, 1], rtol=1e-6)
    # three corners of a triangle see their Fermat point under 120°: for (0,0), (1,0), (½, √3/2) it is the centroid
    assert_allclose(of(GeometricMedian(), [[0, 0], [1, 0], [0.5, 3**0.5 / 2]]), [0.5, 3**0.5 / 6], rtol=1e-5)


def test_its_place_is_a_minimum(monkeypatch):
    monkeypatch.setattr(robust, "ITERATIONS", 500)
    rng = np.random.default_rng(4)
    rows, weights = rng.standard_normal((7, 3)), rng.uniform(0.1, 1, 7)
    found = of(GeometricMedian(), rows, weights) / weights.sum()

    def cost(at):
        return weights @ np.linalg.norm(rows.astype(np.float32) - at, axis=1)

    for _ in range(50):
        assert cost(found) <= cost(found + 0.01 * rng.standard_normal(3)) + 1e-6


def test_multi_krum_by_hand():
    # f = 1 of five; each has the 5 − 1 − 2 = 2 nearest: 1 + 4, 1 + 1, 1 + 1, 1 + 4 and 96² + 97²
    rows = [[1], [2], [3], [4], [100]]
    assert of(MultiKrum(0.2), rows).tolist() == [2.5]
    # the weights of those taken keep their ratios and take over the rest: (1 + 2·2 + 3 + 4)/5 times Σ = 6
    assert_allclose(of(MultiKrum(0.2), rows, [1, 2, 1, 1, 1]), 12 / 5 * 6, rtol=1e-6)
    assert of(MultiKrum(0.0), rows).tolist() == of(Mean(), rows).tolist()
    assert of(MultiKrum(0.4), rows[:4]).tolist() == [2.5]  # four are too few to suspect one of them


@pytest.mark.parametrize("part", ROBUST, ids=lambda part: part.kind)
def test_what_was_not_sent_counts_as_zero_across_blocks(part, monkeypatch):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((6, 50)).astype(np.float32)
    sparse = [Update.keep(row, np.sort(rng.choice(50, 20 + 5 * k, replace=False))) for k, row in enumerate(vectors)]
    dense = [Update.whole(update.dense()) for update in sparse]
    weights = rng.dirichlet(np.ones(6))
    whole = part.aggregate(dense, weights, 50)
    monkeypatch.setattr(robust, "BLOCK", 7)
    assert_allclose(part.aggregate(sparse, weights, 50), whole, rtol=1e-5, atol=1e-7)


def hostile(clients: int = 10, size: int = 200) -> tuple[list[Update], np.ndarray]:
    """Updates of clients that agree roughly, one of whom sends −99 times its own; and what they agree on."""
    rng = np.random.default_rng(7)
    agreed = rng.standard_normal(size)
    rows = agreed + 0.5 * rng.standard_normal((clients, size))
    rows[3] *= -99
    return updates(*rows), agreed


def test_a_tenth_of_hostile_clients_passes_the_screen_and_ruins_the_mean():
    sent, agreed = hostile()
    assert Screen().refused(dict(enumerate(sent))) == set()
    found = Mean().aggregate(sent, np.full(10, 0.1), 200)
    assert found @ agreed < -5 * (agreed @ agreed)


@pytest.mark.parametrize("part", ROBUST, ids=lambda part: part.kind)
def test_a_tenth_of_hostile_clients_does_not_ruin_the_others(part):
    sent, agreed = hostile()
    found = part.aggregate(sent, np.full(10, 0.1), 200)
    assert np.linalg.norm(found - agreed) < 0.35 * np.linalg.norm(agreed)
    honest = Mean().aggregate([*sent[:3], *sent[4:]], np.full(9, 1 / 9), 200)
    assert np.linalg.norm(found - honest) < 0.2 * np.linalg.norm(agreed)
