"""FedNova: weights that undo how far local steps reach."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.core.cohort import Cohort
from heteroselect.core.population import Population
from heteroselect.parts.aggregate import FedNova
from heteroselect.parts.aggregate.normalised import normalised, reach

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)


@pytest.mark.parametrize(("steps", "length"), [(0, 0), (1, 1), (2, 2.9), (50, 410.46)])
def test_the_reach_of_momentum(steps, length):
    assert reach(steps, momentum=0.9) == pytest.approx(length, rel=1e-5)
    assert reach(steps) == steps


@given(st.integers(1, 60), st.floats(0, 0.95))
@RANDOM
def test_the_reach_of_momentum_has_the_papers_closed_form(steps, rho):
    closed = (steps - rho * (1 - rho**steps) / (1 - rho)) / (1 - rho)
    assert reach(steps, momentum=rho) == pytest.approx(closed)


def test_the_weigher_goes_by_data_and_reach():
    # reaches of one and two steps at momentum ½: 1 and 2.5; p = ¼ and ¾
    cohort = Cohort(np.array([3, 0]), np.ones(2), steps=np.array([1, 2]))
    population = Population.new(np.array([30, 99, 99, 10]))
    found = FedNova(0.5).weights(np.zeros(2), cohort, population)
    assert_allclose(found, [2.125 * 0.25, 2.125 * 0.75 / 2.5])
    assert_allclose(FedNova().weights(np.zeros(2), replace(cohort, steps=None), population), [0.25, 0.75])


def test_who_steps_more_does_not_pull_more():
    # gradients 1 and −1, τ = 1 and 3, η = 1: the updates are −1 and 3, whose mean is +1
    updates, reached = np.array([-1.0, 3.0]), np.array([1.0, 3.0])
    assert np.mean(updates) == 1
    assert normalised(np.array([50, 50]), reached) @ updates == pytest.approx(0)


@given(st.lists(st.integers(1, 100), min_size=1, max_size=6), st.floats(0.5, 50))
@RANDOM
def test_equal_reaches_are_fedavg(sizes, length):
    sizes = np.array(sizes)
    assert_allclose(normalised(sizes, np.full(len(sizes), length)), sizes / sizes.sum())


def test_effective_steps_by_hand():
    # τ_eff = ¼·2 + ¾·4
    found = normalised(np.array([10, 30]), np.array([2.0, 4.0]))
    assert_allclose(found, [3.5 * 0.25 / 2, 3.5 * 0.75 / 4])


def test_who_took_no_step_counts_nothing():
    assert_allclose(normalised(np.array([10, 30, 60]), np.array([2.0, 2.0, 0.0])), [0.25, 0.75, 0])
    assert normalised(np.array([10, 30]), np.zeros(2)).tolist() == [0, 0]
