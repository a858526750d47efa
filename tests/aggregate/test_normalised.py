"""FedNova: how far local steps reach, and weights that undo it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.aggregate.normalised import effective, normalised, reach

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)


@pytest.mark.parametrize(("steps", "length"), [(0, 0), (1, 1), (2, 2.9), (5, 13.144), (50, 410.46)])
def test_the_reach_of_momentum(steps, length):
    assert reach(steps, momentum=0.9) == pytest.approx(length, rel=1e-5)
    assert reach(steps) == steps


@given(st.integers(1, 60), st.floats(0, 0.95))
@RANDOM
def test_the_reach_of_momentum_has_the_papers_closed_form(steps, rho):
    closed = (steps - rho * (1 - rho**steps) / (1 - rho)) / (1 - rho)
    assert reach(steps, momentum=rho) == pytest.approx(closed)


def test_the_reach_under_a_proximal_pull_by_hand():
    # a ← 0.9a + 1: 1, 1.9, 2.71
    assert reach(3, pull=0.1) == pytest.approx(2.71)


@given(st.integers(0, 20), st.floats(0, 0.9), st.floats(0, 0.2), st.floats(0.01, 0.5), st.floats(-3, 3))
@RANDOM
def test_the_reach_is_what_the_local_solver_does_with_a_constant_gradient(steps, rho, mu, eta, gradient):
    w = velocity = 0.0
    for _ in range(steps):
        velocity = rho * velocity + gradient + mu * w
        w -= eta * velocity
    assert w == pytest.approx(-eta * gradient * reach(steps, rho, eta * mu), abs=1e-9)


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
    data, reached = np.array([0.25, 0.75]), np.array([2.0, 4.0])
    assert effective(data, reached) == 3.5
    assert_allclose(normalised(np.array([10, 30]), reached), [3.5 * 0.25 / 2, 3.5 * 0.75 / 4])
    # where a proximal term shortens the reach, the steps themselves make τ_eff: ¼·5 + ¾·5
    assert_allclose(normalised(np.array([10, 30]), reached, np.full(2, 5.0)), [5 * 0.25 / 2, 5 * 0.75 / 4])


def test_who_took_no_step_has_no_say():
    assert_allclose(normalised(np.array([10, 30, 60]), np.array([2.0, 2.0, 0.0])), [0.25, 0.75, 0])
    assert normalised(np.array([10, 30]), np.zeros(2)).tolist() == [0, 0]
