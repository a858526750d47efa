"""Uniform selection, and the weighted draws that other selectors are made of."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.moment import Moment
from heteroselect.population import Population
from heteroselect.select import Situation
from heteroselect.select.uniform import Uniform, tally, weighted

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
DRAWS = 10_000


def draw(clients, size, rng, scores=None):
    here = Situation(size, Moment(1, 10), rng, Population.new(np.full(clients, 10)))
    return Uniform().select(np.zeros(clients) if scores is None else scores, here)


def test_each_client_is_in_with_m_of_k():
    rng, seen = default_rng(3), np.zeros(5)
    for _ in range(DRAWS):
        cohort = draw(5, 2, rng)
        seen[cohort.ids] += 1 / DRAWS
    assert cohort.inclusion.tolist() == [0.4, 0.4]
    assert (abs(seen - 0.4) <= 4 * math.sqrt(0.24 / DRAWS)).all()


def test_scores_do_not_matter():
    scores = np.array([0.0, 5.0, 1.0, math.nan, 2.0])
    assert draw(5, 3, default_rng(1)).ids.tolist() == draw(5, 3, default_rng(1), scores).ids.tolist()


@given(st.integers(1, 12), st.data())
@RANDOM
def test_a_cohort_is_made_of_distinct_clients(clients, data):
    size, seed = data.draw(st.integers(1, clients)), data.draw(st.integers(0, 999))
    ids = draw(clients, size, default_rng(seed)).ids.tolist()
    assert len(set(ids)) == size
    assert set(ids) <= set(range(clients))
    assert ids == draw(clients, size, default_rng(seed)).ids.tolist()


def test_weights_are_probabilities_of_the_first_draw_and_of_the_second():
    # the first is 2 with ½; then of (¼, ¼) each with ½
    rng, first, second = default_rng(5), np.zeros(4), np.zeros(4)
    for _ in range(DRAWS):
        ids = weighted(np.array([1.0, 1.0, 2.0, 0.0]), 2, rng).ids
        first[ids[0]] += 1 / DRAWS
        second[ids[1]] += 1 / DRAWS
    # P(2 second) = 2·¼·(2/3); P(0 second) = ½·½ + ¼·⅓
    for found, expected in ((first, [1 / 4, 1 / 4, 1 / 2, 0]), (second, [1 / 3, 1 / 3, 1 / 3, 0])):
        expected = np.array(expected)
        assert (abs(found - expected) <= 4 * np.sqrt(expected * (1 - expected) / DRAWS)).all()


def test_a_weighted_draw_divided_by_its_inclusion_is_unbiased():
    rng, weights, x = default_rng(9), np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([5.0, -1.0, 2.0, 8.0, 1.0])
    sums = np.empty(DRAWS)
    for i in range(DRAWS):
        cohort = weighted(weights, 3, rng)
        sums[i] = (x[cohort.ids] / cohort.inclusion).sum()
    assert abs(sums.mean() - x.sum()) <= 4 * sums.std() / math.sqrt(DRAWS)


@given(st.lists(st.sampled_from([0.0, 0.0, 1e-9, 0.5, 3.0]), min_size=1, max_size=9).map(np.array), st.data())
@RANDOM
def test_who_has_no_weight_comes_last(weights, data):
    size = data.draw(st.integers(1, len(weights)))
    cohort = weighted(weights, size, default_rng(data.draw(st.integers(0, 99))))
    heavy = int((weights > 0).sum())
    assert len(set(cohort.ids.tolist())) == size
    assert (weights[cohort.ids[: min(size, heavy)]] > 0).all()
    assert ((cohort.inclusion > 0) & (cohort.inclusion <= 1)).all()
    if size > heavy:
        assert_allclose(cohort.inclusion[heavy:], (size - heavy) / (len(weights) - heavy))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_a_weight_that_is_none_is_rejected(bad):
    with pytest.raises(ValueError, match="not finite"):
        weighted(np.array([1.0, bad]), 1, default_rng(0))


def test_more_than_all_cannot_be_drawn():
    with pytest.raises(ValueError, match="larger"):
        weighted(np.array([1.0, 0.0]), 3, default_rng(0))


def test_draws_with_replacement_count():
    cohort = tally(np.array([3, 1, 3, 3]), np.array([9, 0.1, 9, 0.2]), np.array([9, 0.5, 9, 0.7]))
    assert cohort.ids.tolist() == [1, 3]
    assert_allclose(cohort.share, [0.1, 0.6])
    assert cohort.inclusion.tolist() == [0.5, 0.7]
