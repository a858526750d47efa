"""FedCG (a reconstruction): the shortest round for a given loss, and who plays it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from heteroselect.allocate import Means
from heteroselect.allocate.fedcg import FedCG, alternate, hurts, shortest
from heteroselect.moment import Moment

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
def test_whoever_is_not_at_a_bound_finishes_with_the_last(clients, part):
    computing, sending, weights = np.array(clients).T
    seconds, densities = shortest(computing, sending, weights, part * weights.sum(), 0.01)
    if (densities > 0.01).any():
        free = (densities > 0.01) & (densities < 1)
        assert_allclose((computing + densities * sending)[free], seconds)


def test_nothing_may_be_lost_and_everything_may():
    computing, sending, weights = np.array([1.0, 2.0]), np.array([3.0, 1.0]), np.array([0.5, 0.5])
    seconds, densities = shortest(computing, sending, weights, 0.0, 0.1)
    assert seconds == pytest.approx(4)
    assert_allclose(densities, 1)
    seconds, densities = shortest(computing, sending, weights, 0.9, 0.1)
    assert seconds == pytest.approx(2.1)
    assert densities.tolist() == [0.1, 0.1]
    with pytest.raises(ValueError, match="less than nothing"):
        shortest(computing, sending, weights, -0.1, 0.1)


def test_how_much_compression_hurts_by_hand():
    # squares 1, 9 with mean 5
    assert_allclose(hurts(np.array([0.75, 0.25]), np.array([1.0, 3.0])), [0.15, 0.45])
    assert_allclose(hurts(np.array([0.75, 0.25]), np.zeros(2)), [0.75, 0.25])


def test_the_allocator_keeps_the_weighted_average():
    means = Means(
        np.array([1.0, 4.0]) * 32, np.zeros(2), 1, 10.0, 1, share=np.array([0.5, 0.5]), norms=np.array([2.0, math.nan])
    )
    # ½θ₁ + ½θ₂ = 0.5 at t = θ₁ = θ₂/4
    allocation = FedCG(average=0.5).allocate(np.zeros(2), means, Moment(2, 10))
    assert_allclose(allocation.densities, [0.2, 0.8])
    assert allocation.theta == pytest.approx(0.5)
    assert_allclose(
        FedCG().allocate(np.zeros(2), Means(np.ones(2), np.zeros(2), 1, 10.0, 1), Moment(2, 10)).densities, 0.2
    )


def line(*points):
    points = np.array(points, float)
    return abs(points[:, None] - points[None, :])


def test_three_points_by_hand():
    plan = alternate(line(0, 1, 10), np.ones(3), np.zeros(3), np.ones(3), 2)
    assert plan.ids.tolist() == [1, 2]
    assert plan.represented.tolist() == [2, 1]
    assert_allclose(plan.densities, 0.2)
    assert plan.seconds == pytest.approx(0.2)


def test_of_clients_alike_the_faster_is_taken():
    plan = alternate(line(0, 0, 10, 10), np.ones(4), np.array([5.0, 1.0, 1.0, 5.0]), np.ones(4), 2)
    assert sorted(plan.ids.tolist()) == [1, 2]
    assert plan.seconds == pytest.approx(1.2)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
@RANDOM
def test_a_plan_is_feasible_and_ends(seed, size):
    rng = np.random.default_rng(seed)
    points, lengths = rng.standard_normal((8, 2)), rng.exponential(size=8)
    table = np.linalg.norm(points[:, None] - points[None], axis=2)
    computing, sending = rng.uniform(0, 5, 8), rng.uniform(1, 20, 8)
    plan = alternate(table, lengths, computing, sending, size)
    assert len(set(plan.ids.tolist())) == size
    assert plan.represented.sum() == 8
    weights = hurts(plan.represented / 8, lengths[plan.ids])
    assert weights @ (1 - plan.densities) <= 0.8 * weights.sum() + 1e-9
    assert (computing[plan.ids] + plan.densities * sending[plan.ids] <= plan.seconds + 1e-9).all()


def test_a_second_look_may_find_a_shorter_round():
    # 0 and 1 are alike, and so are 2 and 3, of whom 3 is far too slow. At ½ each, 0 takes 0 + 3.3 s and 1 takes
    # 2 + 1.5 s, so 0 is in: t/6.6 + (t − 4)/10 = 1. But then it sends for all of that time, while 1 would be
    # faster: (t − 2)/3 + (t − 4)/10 = 1
    computing, sending = np.array([0.0, 2.0, 4.0, 100.0]), np.array([6.6, 3.0, 10.0, 10.0])
    once, again = (
        alternate(line(0, 0, 10, 10), np.ones(4), computing, sending, 2, average=0.5, iterations=n) for n in (1, 10)
    )
    assert sorted(once.ids.tolist()) == [0, 2]
    assert once.seconds == pytest.approx(1.4 / (1 / 6.6 + 0.1))
    assert sorted(again.ids.tolist()) == [1, 2]
    assert again.seconds == pytest.approx((1 + 2 / 3 + 0.4) / (1 / 3 + 0.1))


def test_a_first_plan_that_is_shorter_is_kept():
    # now 0 is worse at first sight only: 1 + 3 s against 0 + 3.5 s of client 1, which then has the shorter round too
    computing, sending = np.array([1.0, 0.0, 4.0, 100.0]), np.array([6.0, 7.0, 10.0, 10.0])
    plan = alternate(line(0, 0, 10, 10), np.ones(4), computing, sending, 2, average=0.5)
    assert sorted(plan.ids.tolist()) == [1, 2]
    assert plan.seconds == pytest.approx(1.4 / (1 / 7 + 0.1))
