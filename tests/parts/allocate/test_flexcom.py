"""FlexCom (a reconstruction): the density of every device at the least cost of the whole training."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from heteroselect.parts.allocate.flexcom import FlexCom, cheapest, known
from parts.allocate.situations import allocate, context, links

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
POSITIVE = st.floats(0.05, 20)


def sending(seconds, computing=0.0, **more):
    """Clients whose whole update takes so many seconds: 32 bits."""
    return context(links(32 / np.array(seconds, float), computing), **more)


def total(theta, costs, needs, fixed, base):
    return (fixed + costs @ theta) * (base + (needs / theta).sum())


def test_without_bounds_the_closed_form():
    # √(C₀·b/(A·c)) with C₀ = 2 and A = 50
    costs, needs = np.array([1.0, 4.0, 0.5]), np.array([1.0, 1.0, 2.0])
    found = cheapest(costs, needs, 2.0, 50.0, 1e-6)
    assert_allclose(found, np.sqrt(2 * needs / (50 * costs)))


@pytest.mark.parametrize("seed", range(6))
def test_within_bounds_the_numerical_optimum(seed):
    rng = np.random.default_rng(seed)
    costs, needs = rng.exponential(size=4) + 0.1, rng.exponential(size=4) + 0.1
    fixed, base = rng.uniform(0.1, 3), rng.uniform(0.1, 30)
    ours = cheapest(costs, needs, fixed, base, 0.1, 0.6)
    found = minimize(
        lambda log: math.log(total(np.exp(log), costs, needs, fixed, base)), np.full(4, math.log(0.3)),
        method="L-BFGS-B", bounds=[(math.log(0.1), math.log(0.6))] * 4, options={"ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    assert_allclose(ours, np.exp(found.x), rtol=1e-4)
    assert total(ours, costs, needs, fixed, base) <= math.exp(found.fun) * (1 + 1e-9)


@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=6), POSITIVE, st.floats(0, 50))
@RANDOM
def test_the_fixed_point_holds(clients, fixed, base):
    costs, needs = np.array(clients).T
    theta = cheapest(costs, needs, fixed, base, 0.01)
    ratio = (fixed + costs @ theta) / (base + (needs / theta).sum())
    assert_allclose(theta, np.clip(np.sqrt(ratio * needs / costs), 0.01, 1), rtol=1e-6)


def test_edges():
    ones = np.ones(2)
    assert_allclose(cheapest(ones, ones, 5.0, 0.0, 0.01), 1)  # rounds are all there is to save
    assert_allclose(cheapest(np.array([1e-12, 1.0]), ones, 1.0, 100.0, 0.01)[0], 1)  # sending costs nothing
    assert_allclose(cheapest(ones, ones, 0.0, 1e9, 0.01), 0.01)  # rounds are given, so save on each
    assert_allclose(cheapest(ones, np.zeros(2), 1.0, 1.0, 0.01), 0.01)
    assert cheapest(ones, np.array([0.0, 1.0]), 1.0, 10.0, 0.01)[0] == 0.01


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


def test_with_the_rounds_given_work_is_weighed_against_talk():
    # A = 4·Σb: for clients alike √(C₀·b/(A·c)) is √(τ/(4·u))
    alike = sending([10.0, 10.0], computing=1.0)
    assert_allclose(allocate(FlexCom(rounds=4.0), np.zeros(2), alike).densities, math.sqrt(1 / 40))


def test_what_is_not_known_is_average():
    assert known(None, 2).tolist() == [1, 1]
    assert known(np.array([math.nan, math.nan]), 2).tolist() == [1, 1]
    assert known(np.array([1.0, math.nan, 3.0]), 3).tolist() == [1, 2, 3]
    assert_allclose(allocate(FlexCom(), np.zeros(2), sending([1, 1])).densities, 0.2)
