"""OptRate (a reconstruction): a budget over rounds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.allocate import Means
from heteroselect.allocate.optrate import OptRate, continued, importance, level_out, levels
from heteroselect.moment import Moment

RANDOM = settings(max_examples=50, deadline=None, derandomize=True)


def means(norms=None, thetas=None):
    links = np.full(3, 1e6)
    return Means(
        links, np.full(3, 0.1), 5, 10.0, 1000,
        past_norms=None if norms is None else np.array(norms, float),
        past_thetas=None if thetas is None else np.array(thetas, float),
    )  # fmt: skip


def play(rule, norms):
    """θ of every round, when the updates are of these lengths."""
    thetas = []
    for t in range(1, len(norms) + 1):
        known = means(norms[: t - 1], thetas)
        thetas.append(rule.theta(known, Moment(t, len(norms))))
    return np.array(thetas)


def test_reverse_water_filling_by_hand():
    lost = np.array([1.0, 4.0, 16.0])
    found = levels(lost, np.ones(3), 9)
    assert_allclose(found, [4, 8, 16])
    assert_allclose(lost / found**2, 0.0625)


def test_a_round_with_nothing_to_lose_costs_nothing():
    # s² ∝ A would give the first 2^−1; it gets one level, and the others share the four bits
    assert_allclose(levels(np.array([1 / 64, 4.0, 4.0]), np.ones(3), 4), [1, 4, 4])


def test_late_rounds_matter_more():
    rounds = np.arange(1, 101)
    found = importance(rounds, 100, 8.0)
    product = [np.prod(1 - 2 / (np.arange(t + 1, 101) + 8.0)) for t in rounds]
    assert_allclose(found, product)
    assert found[49] == pytest.approx(0.286, abs=5e-4)
    assert found[49] == pytest.approx((58 / 108) ** 2, abs=3e-3)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8).map(np.array), st.floats(0, 10))
@RANDOM
def test_levelling_spends_the_total_within_bounds_and_in_order(offsets, total):
    found = level_out(offsets, total, 0.05, 1.0)
    assert ((found >= 0.05) & (found <= 1)).all()
    assert found.sum() == pytest.approx(np.clip(total, 0.05 * len(offsets), len(offsets)), abs=1e-9)
    assert (np.diff(found[np.argsort(offsets)]) >= -1e-12).all()


def test_levelling_is_the_optimum_of_exponential_losses():
    # a = (1, 2, 4), c = 5, a mean of 0.2
    found = level_out(np.log([1, 2, 4]) / 5, 0.6, 0.0, 1.0)
    assert_allclose(found, [0.0614, 0.2, 0.3386], atol=5e-5)


def test_a_constant_length_gives_a_constant_rate():
    assert_allclose(play(OptRate(), np.full(20, 3.0)), 0.2)
    assert OptRate().theta(means(), Moment(1, 20)) == pytest.approx(0.2)


def test_the_same_for_all_clients():
    allocation = OptRate(average=0.3).allocate(np.array([0.1, 0.9, 0.5]), means(), Moment(1, 20))
    assert_allclose(allocation.densities, 0.3)
    assert allocation.theta == pytest.approx(0.3)
    assert not allocation.warmup


def test_an_exponential_is_continued():
    assert_allclose(continued(np.array([5.0, 4.0, 3.0]), np.array([4, 5]), 0.0), [2, 1])
    assert_allclose(continued(np.array([5.0, math.nan, 3.0]), np.array([4, 5]), 0.0), [2, 1])
    assert_allclose(continued(np.array([5.0]), np.array([4, 5]), 0.0), 5)
    assert_allclose(continued(np.array([math.nan]), np.array([4, 5]), 0.0), 0)
    # around round 2: a slope of −2 over the two rounds² of the points, and as many of caution
    assert_allclose(continued(np.array([5.0, 4.0, 3.0]), np.array([4, 5]), 2.0), [3, 2.5])


def test_where_updates_shrink_the_first_rounds_send_more():
    # known exactly, lengths e^{−t/10} make θ fall by 2/10/5 a round
    found = play(OptRate(caution=0.0), np.exp(-np.arange(1, 11) / 10))
    assert_allclose(np.diff(found[2:]), -0.04, atol=1e-9)
    assert found.sum() == pytest.approx(2)


def test_where_late_rounds_matter_more_they_send_more():
    found = play(OptRate(importance="late"), np.ones(30))
    assert (np.diff(found) >= -1e-12).all()
    assert found[-1] > found[0] + 0.1
    assert found.sum() == pytest.approx(6)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=15), st.sampled_from(["constant", "late"]), st.floats(0.01, 1))
@RANDOM
def test_the_budget_is_never_exceeded(norms, kind, average):
    found = play(OptRate(average=average, importance=kind, caution=1.0), np.array(norms))
    assert ((found >= 0.005) & (found <= 1)).all()
    assert found.sum() <= average * len(norms) + 1e-9


def test_nothing_learnt_or_nothing_left_sends_the_minimum_and_never_nothing():
    assert OptRate().theta(means([3.0, 0.0], [0.2, 0.2]), Moment(3, 10)) == 0.005
    assert OptRate().theta(means([3.0, 3.0], [1.0, 1.0]), Moment(3, 10)) == pytest.approx(0.005)


def test_a_run_that_goes_on_past_its_horizon_sends_the_minimum():
    assert OptRate().theta(means([3.0] * 10, [0.2] * 10), Moment(11, 10)) == pytest.approx(0.005)
