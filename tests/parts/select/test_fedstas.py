"""FedSTaS: strata, Neyman's rule, and long updates."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.update import Update
from heteroselect.parts.select import FedSTaS, SelectionContext
from heteroselect.parts.select.fedstas import neyman, stratified


def test_neyman_by_hand():
    assert neyman(np.array([10, 10, 20]), np.array([1, 3, 0.5]), 10).tolist() == [2, 6, 2]
    assert neyman(np.array([10, 10]), np.zeros(2), 4).tolist() == [2, 2]  # without spread by their clients
    assert neyman(np.array([10, 10]), np.array([0.0, 1.0]), 4).tolist() == [1, 3]  # nobody is left out
    assert neyman(np.array([10, 2]), np.array([1.0, 50.0]), 6).tolist() == [4, 2]  # nor is anybody taken twice
    assert neyman(np.array([5, 5, 5]), np.array([1.0, 9.0, 2.0]), 2).tolist() == [0, 2, 0]


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 5)), min_size=1, max_size=6), st.integers(1, 30))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_neyman_spends_all_places_and_no_more_than_there_are_clients(strata, size):
    counts, spreads = np.array([n for n, _ in strata]), np.array([s for _, s in strata])
    size = min(size, int(counts.sum()))
    found = neyman(counts, spreads, size)
    assert found.sum() == size
    assert ((found >= 0) & (found <= counts)).all()
    if size >= np.count_nonzero(counts):
        assert (found[counts > 0] >= 1).all()


POINTS = np.array([[0, 0], [0.2, 0], [10, 0], [10, 0.6], [10, -0.6], [0, 20]])


def test_strata_are_what_lies_together_and_their_spread_is_its_mean_square():
    for seed in range(20):
        strata, spreads = stratified(POINTS @ POINTS.T, 3, default_rng(seed))
        assert len(set(strata.tolist())) == 3
        if len({*strata[:2]}) == len({*strata[2:5]}) == 1:
            assert_allclose(spreads[strata[[0, 2, 5]]], [0.01, 0.24, 0], atol=1e-9)
            break
    else:
        pytest.fail("k-means never found three clear groups")


def test_no_stratum_stays_empty_where_all_are_alike():
    strata, spreads = stratified(np.ones((4, 4)), 2, default_rng(0))
    assert set(strata.tolist()) <= {0, 1}
    assert_allclose(spreads, 0)


def test_a_stratum_counts_by_its_clients():
    uploads = {k: Update.whole(point.astype(np.float32)) for k, point in enumerate(POINTS)}
    population = replace(Population.new(np.full(6, 10)), uploads=uploads)
    for seed in range(10):
        context = SelectionContext(Moment(3, 9), np.arange(6), population, 3, default_rng(seed))
        cohort = FedSTaS(strata=3).select(np.zeros(6), context)
        strata, _ = stratified(POINTS @ POINTS.T, 3, default_rng(seed))
        assert cohort.share.sum() == pytest.approx(1)
        taken, sizes = np.bincount(strata[cohort.ids], minlength=3), np.bincount(strata, minlength=3)
        expected = sizes[strata[cohort.ids]] / taken[strata[cohort.ids]]
        assert_allclose(cohort.share, expected / expected.sum())
