"""How far local steps reach: by hand, in closed form, and against the recursion of the solver."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heteroselect.parts.train import reach

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
