"""FlexCom (a reconstruction): the density of every device at the least cost of the whole training."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.parts.allocate.flexcom import FlexCom, known
from parts.allocate.situations import allocate, context, links

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
POSITIVE = st.floats(0.05, 20)


def sending(seconds, **more):
    """Clients whose whole update takes so many seconds: 32 bits."""
    return context(links(32 / np.array(seconds, float)), **more)


def test_a_need_four_times_as_large_doubles_the_density_and_a_slower_link_lowers_it():
    found = allocate(FlexCom(), np.zeros(3), sending([1, 1, 4], norms=[1, 2, 1])).densities
    assert found[1] == pytest.approx(2 * found[0])
    assert found[2] == pytest.approx(found[0] / 2)
    assert found.mean() == pytest.approx(0.2)


def test_twice_the_data_doubles_the_density():
    found = allocate(FlexCom(), np.zeros(3), sending([1, 1, 1], sizes=[10, 20, 10])).densities
    assert found[1] == pytest.approx(2 * found[0])


@given(st.lists(st.tuples(POSITIVE, st.integers(1, 400), POSITIVE), min_size=1, max_size=6), st.floats(0.05, 0.9))
@RANDOM
def test_the_average_is_met_within_bounds(clients, average):
    seconds, sizes, norms = zip(*clients, strict=True)
    allocation = allocate(FlexCom(average), np.zeros(len(clients)), sending(seconds, sizes=sizes, norms=norms))
    assert ((allocation.densities >= 0.005) & (allocation.densities <= 1)).all()
    assert allocation.densities.mean() == allocation.theta == pytest.approx(average)


def test_what_is_not_known_is_average():
    assert known(np.array([math.nan, math.nan])).tolist() == [1, 1]
    assert known(np.array([1.0, math.nan, 3.0])).tolist() == [1, 2, 3]
    assert_allclose(allocate(FlexCom(), np.zeros(2), sending([1, 1])).densities, 0.2)
