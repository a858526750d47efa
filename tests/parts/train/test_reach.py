"""How far local steps reach: by hand and in closed form."""

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
