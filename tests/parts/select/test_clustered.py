"""Clustered sampling: distributions that add up, by size and by likeness."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.update import Update
from heteroselect.parts.select import SelectionContext
from heteroselect.parts.select.clustered import Clustered, by_similarity, by_size, cut

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
SIZES = st.lists(st.integers(1, 50), min_size=1, max_size=12).map(np.array)


def plane(rng, clients):
    points = rng.standard_normal((clients, 2))
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def fair(chances, sizes, bins):
    """Every row is a distribution, and client i has m·p_i in all."""
    assert chances.shape == (bins, len(sizes))
    assert (chances >= 0).all()
    assert_allclose(chances.sum(1), 1)
    assert_allclose(chances.sum(0), bins * sizes / sizes.sum(), atol=1e-14)


def test_three_clients_by_hand():
    assert_allclose(by_size(np.array([5, 3, 2]), 2), [[1, 0, 0], [0, 0.6, 0.4]])
    # the order is that of the sizes, not of the numbers
    assert_allclose(by_size(np.array([2, 5, 3]), 2), [[0, 1, 0], [0.4, 0, 0.6]])


def test_a_client_larger_than_a_bin_spills_over():
    # 3·(8, 1, 1) in bins of 10: two bins full of client 0 and 4 of the third
    expected = [[1, 0, 0], [1, 0, 0], [0.4, 0.3, 0.3]]
    assert_allclose(by_size(np.array([8, 1, 1]), 3), expected)
    assert_allclose(by_similarity(np.array([8, 1, 1]), 3, plane(default_rng(0), 3), default_rng(1)), expected)


@given(SIZES, st.integers(1, 12), st.integers(0, 999))
@RANDOM
def test_the_distributions_are_fair(sizes, bins, seed):
    fair(by_size(sizes, bins), sizes, bins)
    fair(by_similarity(sizes, bins, plane(default_rng(seed), len(sizes)), default_rng(seed)), sizes, bins)


@given(SIZES, st.integers(1, 6), st.integers(0, 999))
@RANDOM
def test_the_mean_varies_no_more_than_if_drawn_from_all(sizes, bins, seed):
    x, p = default_rng(seed).standard_normal(len(sizes)), sizes / sizes.sum()
    multinomial = (p @ x**2 - (p @ x) ** 2) / bins
    alike = by_similarity(sizes, bins, plane(default_rng(seed), len(sizes)), default_rng(seed))
    for chances in (by_size(sizes, bins), alike):
        assert (chances @ x**2 - (chances @ x) ** 2).sum() / bins**2 <= multinomial + 1e-12


def test_clients_alike_share_a_bin():
    # two clear groups of equal mass, interleaved
    points = np.array([0.0, 9.0, 0.1, 9.1, 0.2, 9.2])
    chances = by_similarity(np.full(6, 10), 2, abs(points[:, None] - points), default_rng(0))
    third = 1 / 3
    assert_allclose(sorted(chances.tolist()), [[0, third] * 3, [third, 0] * 3])


def test_the_tree_is_cut_where_a_bin_is_full():
    points = np.array([0.0, 0.1, 0.2, 9.0])
    table = abs(points[:, None] - points)
    groups = {capacity: sorted(map(sorted, cut(np.full(4, 10), capacity, table))) for capacity in (10, 20, 30, 40)}
    assert groups[10] == [[0], [1], [2], [3]]
    assert groups[20] in ([[0, 1], [2], [3]], [[0], [1, 2], [3]])
    assert groups[30] == [[0, 1, 2], [3]]
    assert groups[40] == [[0, 1, 2, 3]]


def select(by, size, sizes, uploads=(), seed=0):
    last = {client: Update.whole(np.array(vector, np.float32)) for client, vector in enumerate(uploads)}
    population = replace(Population.new(np.array(sizes)), uploads=last)
    context = SelectionContext(Moment(2, 10), np.arange(len(sizes)), population, size, default_rng(seed))
    return Clustered(by).select(np.zeros(len(sizes)), context)


def test_draws_weigh_the_same_and_a_client_drawn_twice_weighs_twice():
    cohort = select("size", 3, [8, 1, 1])
    assert cohort.ids[0] == 0
    assert cohort.inclusion[0] == 1
    assert_allclose(cohort.share.sum(), 1)
    assert set(np.round(cohort.share * 3)) <= {1, 2, 3}
    assert cohort.share[0] >= 2 / 3 - 1e-12


def test_by_angle_one_of_each_direction_is_drawn():
    uploads = [[1, 0], [0, 5], [3, 0.1], [0.1, 1]]
    for seed in range(20):
        ids = select("similarity", 2, [10] * 4, uploads, seed).ids
        assert sorted(k % 2 for k in ids) == [0, 1]


def test_before_there_is_any_upload_only_size_counts():
    assert select("similarity", 2, [5, 3, 2]).ids[0] == 0
    assert_allclose(select("similarity", 2, [5, 3, 2]).inclusion, select("size", 2, [5, 3, 2]).inclusion)


def test_the_heaviest_groups_get_the_bins():
    # the tree has {0, 1} and {3, 4} of 40 in bins of 50; client 2 fills what room they leave
    points = np.array([0.0, 0.1, 9.0, 20.0, 40.0])
    chances = by_similarity(np.full(5, 10), 2, abs(points[:, None] - points), default_rng(0))
    assert_allclose(sorted(chances.tolist()), [[0, 0, 0.2, 0.4, 0.4], [0.4, 0.4, 0.2, 0, 0]])
