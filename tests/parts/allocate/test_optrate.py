"""OptRate (a reconstruction): a budget over rounds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.core.cohort import Outcome
from heteroselect.core.moment import Moment
from heteroselect.parts.allocate import optrate
from heteroselect.parts.allocate.optrate import OptRate, continued, level_out

RANDOM = settings(max_examples=50, deadline=None, derandomize=True)


def after(norms, thetas):
    """The state after rounds with updates of these lengths and these densities."""
    return {"norms": np.array(norms, float), "thetas": np.array(thetas, float)}


def run(rule, norms):
    """θ of every round, when the updates are of these lengths."""
    state = {}
    for t, norm in enumerate(norms, start=1):
        theta = rule.theta(state, Moment(t, len(norms)))
        state = rule.learn(state, Outcome(t, np.arange(2), theta, np.full(2, float(norm))))
    return state["thetas"]


def test_it_learns_the_mean_length_and_the_density_of_each_round():
    rule = OptRate()
    first = rule.learn({}, Outcome(1, np.array([3, 5]), 0.25, np.array([1.0, 4.0])))
    assert {name: array.tolist() for name, array in first.items()} == {"norms": [2.5], "thetas": [0.25]}
    second = rule.learn(first, Outcome(2, np.empty(0, np.int64), 0.5, np.empty(0)))
    assert second["thetas"].tolist() == [0.25, 0.5]
    assert np.isnan(second["norms"][1])  # nothing arrived
    assert len(first["norms"]) == 1


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
    assert_allclose(run(OptRate(), np.full(20, 3.0)), 0.2)
    assert OptRate().theta({}, Moment(1, 20)) == pytest.approx(0.2)


def test_an_exponential_is_continued(monkeypatch):
    assert_allclose(continued(np.array([5.0]), np.array([4, 5])), 5)
    assert_allclose(continued(np.array([math.nan]), np.array([4, 5])), 0)
    monkeypatch.setattr(optrate, "CAUTION", 0.0)
    assert_allclose(continued(np.array([5.0, 4.0, 3.0]), np.array([4, 5])), [2, 1])
    assert_allclose(continued(np.array([5.0, math.nan, 3.0]), np.array([4, 5])), [2, 1])
    # around round 2: a slope of −2 over the two rounds² of the points, and as many of caution
    monkeypatch.setattr(optrate, "CAUTION", 2.0)
    assert_allclose(continued(np.array([5.0, 4.0, 3.0]), np.array([4, 5])), [3, 2.5])


def test_where_updates_shrink_the_first_rounds_send_more(monkeypatch):
    # known exactly, lengths e^{−t/10} make θ fall by 2/10/5 a round
    monkeypatch.setattr(optrate, "CAUTION", 1e-9)
    found = run(OptRate(), np.exp(-np.arange(1, 11) / 10))
    assert_allclose(np.diff(found[2:]), -0.04, atol=1e-9)
    assert found.sum() == pytest.approx(2)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=15), st.floats(0.01, 1))
@RANDOM
def test_the_budget_is_never_exceeded(norms, average):
    found = run(OptRate(average=average), np.array(norms))
    assert ((found >= 0.005) & (found <= 1)).all()
    assert found.sum() <= average * len(norms) + 1e-9


def test_nothing_learnt_or_nothing_left_sends_the_minimum_and_never_nothing():
    assert OptRate().theta(after([3.0, 0.0], [0.2, 0.2]), Moment(3, 10)) == 0.005
    assert OptRate().theta(after([3.0, 3.0], [1.0, 1.0]), Moment(3, 10)) == pytest.approx(0.005)


def test_a_run_that_goes_on_past_its_horizon_sends_the_minimum():
    assert OptRate().theta(after([3.0] * 10, [0.2] * 10), Moment(11, 10)) == pytest.approx(0.005)
