"""FedCG (a reconstruction): the shortest round for a given loss."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from heteroselect.parts.allocate.fedcg import FedCG, shortest
from parts.allocate.situations import allocate, context, links

RANDOM = settings(max_examples=100, deadline=None, derandomize=True)
# weights far below the solver's own tolerance would compare that
CLIENT = st.tuples(st.floats(0, 30), st.floats(0.1, 30), st.one_of(st.just(0.0), st.floats(0.05, 3)))

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def program(computing, sending, weights, allowed, minimum):
    """The same by a solver: over (θ, t), least t with θ·u − t ≤ −τ and −Σρθ ≤ Γ − Σρ."""
    clients = len(computing)
    rows = np.hstack([np.diag(sending), -np.ones((clients, 1))])
    rows = np.vstack([rows, np.append(-weights, 0.0)])
    limits = np.append(-computing, allowed - weights.sum())
    bounds = [(minimum, 1.0)] * clients + [(None, None)]
    found = linprog(np.append(np.zeros(clients), 1.0), rows, limits, bounds=bounds, method="highs", options=TIGHT)
    assert found.status == 0, found.message
    return found.fun


def test_where_computing_decides_the_plan_has_the_stated_mean_density():
    # the slowest device needs 10 s whatever it sends; at 10.005 s the two others could send everything
    computing, sending, weights = np.array([1.0, 2.0, 10.0]), np.ones(3), np.ones(3) / 3
    seconds, densities = shortest(computing, sending, weights, 0.8, 0.005)
    assert seconds == pytest.approx(10.005)
    assert densities == pytest.approx([0.2975, 0.2975, 0.005])  # mean 0.2, and not 0.67
    assert densities.mean() == pytest.approx(0.2)


def test_two_links_by_hand():
    seconds, densities = shortest(np.zeros(2), np.array([1.0, 0.25]), np.array([0.5, 0.5]), 0.5, 0.005)
    assert seconds == pytest.approx(0.2)
    assert_allclose(densities, [0.2, 0.8])  # the slow link is compressed harder


@given(st.lists(CLIENT, min_size=1, max_size=10), st.floats(0, 1.1), st.sampled_from([0.0, 0.005, 0.1]))
@RANDOM
def test_the_time_is_that_of_the_linear_program(clients, part, minimum):
    computing, sending, weights = np.array(clients).T
    allowed = part * weights.sum()
    seconds, densities = shortest(computing, sending, weights, allowed, minimum)
    assert seconds == pytest.approx(program(computing, sending, weights, allowed, minimum), rel=1e-9, abs=1e-9)
    assert ((densities >= minimum) & (densities <= 1)).all()
    assert weights @ (1 - densities) <= allowed + 1e-9
    assert (computing + densities * sending <= seconds + 1e-9).all()


@given(st.lists(CLIENT, min_size=1, max_size=10), st.floats(0.1, 0.9))
@RANDOM
def test_whoever_is_below_the_level_of_all_finishes_with_the_last_and_as_much_is_lost_as_may_be(clients, part):
    computing, sending, weights = np.array(clients).T
    allowed = part * weights.sum()
    seconds, densities = shortest(computing, sending, weights, allowed, 0.01)
    if (densities > 0.01).any():
        free = (densities > 0.01) & (densities < densities.max())
        assert_allclose((computing + densities * sending)[free], seconds)
        assert_allclose(weights @ (1 - densities), allowed)


def test_nothing_may_be_lost_and_everything_may():
    computing, sending, weights = np.array([1.0, 2.0]), np.array([3.0, 1.0]), np.array([0.5, 0.5])
    seconds, densities = shortest(computing, sending, weights, 0.0, 0.1)
    assert seconds == pytest.approx(4)
    assert_allclose(densities, 1)
    seconds, densities = shortest(computing, sending, weights, 0.9, 0.1)
    assert seconds == pytest.approx(2.1)
    assert densities.tolist() == [0.1, 0.1]


def test_the_allocator_keeps_the_average_whoever_stands_for_whom():
    # (θ₁ + θ₂)/2 = 0.5 at t = θ₁ = θ₂/4
    situation = context(links([32, 128]), norms=[2.0, math.nan])
    for share in ([0.5, 0.5], [0.99, 0.01]):
        allocation = allocate(FedCG(average=0.5), np.zeros(2), situation, share=share)
        assert_allclose(allocation.densities, [0.2, 0.8])
        assert allocation.theta == pytest.approx(0.5)
    assert_allclose(allocate(FedCG(), np.zeros(2), context(links([1, 1]))).densities, 0.2)
