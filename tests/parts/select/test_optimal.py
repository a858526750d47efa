"""Optimal client sampling: its probabilities are the optimum, and its sum is unbiased."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from heteroselect.parts.select.optimal import OptimalSampling, aocs, probabilities

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
LENGTHS = st.lists(st.floats(0.01, 100), min_size=2, max_size=10).map(np.array)


@pytest.mark.parametrize("rule", [probabilities, aocs])
def test_four_lengths_by_hand(rule):
    # the longest sends for sure; the others share the other place as 1 : 2 : 3
    assert_allclose(rule(np.array([1.0, 2, 3, 10]), 2), [1 / 6, 1 / 3, 1 / 2, 1])
    assert_allclose(rule(np.array([10.0, 3, 1, 2]), 2), [1, 1 / 2, 1 / 6, 1 / 3])


@given(LENGTHS, st.data())
@RANDOM
def test_both_rules_agree_and_expect_m_senders(lengths, data):
    size = data.draw(st.integers(1, len(lengths)))
    exact = probabilities(lengths, size)
    assert ((exact > 0) & (exact <= 1)).all()
    assert_allclose(exact.sum(), size)
    assert_allclose(aocs(lengths, size, iterations=len(lengths)), exact, rtol=1e-9)
    # longer updates are never less likely
    assert (np.diff(exact[np.argsort(lengths)]) >= -1e-12).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_probabilities_are_the_optimum(seed):
    rng = default_rng(seed)
    lengths, size = rng.exponential(size=6) + 0.05, int(rng.integers(1, 6))
    found = minimize(
        lambda pi: (lengths**2 / pi).sum(), np.full(6, size / 6), method="SLSQP", bounds=[(1e-6, 1)] * 6,
        constraints={"type": "eq", "fun": lambda pi: pi.sum() - size}, options={"maxiter": 1000, "ftol": 1e-14},
    )  # fmt: skip
    exact = probabilities(lengths, size)
    assert (lengths**2 / exact).sum() <= found.fun * (1 + 1e-9)
    assert_allclose(exact, found.x, atol=2e-3)


@pytest.mark.parametrize("rule", [probabilities, aocs])
def test_nobody_who_learnt_anything_is_everybody_alike(rule):
    assert_allclose(rule(np.zeros(5), 2), 0.4)


def test_zeros_share_what_the_others_leave():
    assert_allclose(probabilities(np.array([0.0, 5.0, 0.0]), 2), [0.5, 1, 0.5])
    assert_allclose(probabilities(np.array([0.0, 5.0, 5.0]), 1), [0, 0.5, 0.5])


@pytest.mark.parametrize("rule", [probabilities, aocs])
@pytest.mark.parametrize("lengths", [[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
def test_all_places_are_for_all(rule, lengths):
    assert_allclose(rule(np.array(lengths), 3), 1)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_a_length_that_is_none_is_rejected(bad):
    for rule in (probabilities, aocs):
        with pytest.raises(ValueError, match="length"):
            rule(np.array([1.0, bad]), 1)
        with pytest.raises(ValueError, match="cannot be drawn"):
            rule(np.ones(2), 3)


@pytest.mark.parametrize("rule", ["exact", "aocs"])
def test_the_sum_is_unbiased_over_every_possible_cohort(rule):
    norms, data, x = np.array([1.0, 5.0, 2.0, 0.5]), np.array([0.1, 0.4, 0.3, 0.2]), np.array([3.0, -1.0, 2.0, 7.0])
    chances, ids = probabilities(norms * data, 2), np.array([1, 4, 5, 9])

    def fixed(chosen):
        """Numbers that draw exactly the chosen clients."""
        return type("Rng", (), {"random": lambda self, size: np.where(chosen, 0.0, np.nextafter(1, 0))})()

    total = certain = 0.0
    for chosen in itertools.product([False, True], repeat=4):
        chance = np.prod(np.where(chosen, chances, 1 - chances))
        if chance > 0:
            cohort = OptimalSampling(rule).choose(ids, norms, data, 2, fixed(chosen))
            places = np.flatnonzero(chosen)
            assert cohort.ids.tolist() == ids[places].tolist()
            assert_allclose(cohort.inclusion, chances[places])
            total += chance * (cohort.share @ x[places])
            certain += chance
    assert certain == pytest.approx(1)
    assert total == pytest.approx(data @ x)
