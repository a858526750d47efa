"""Everybody finishes together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from heteroselect.core.conditions import Coder, position_bits
from heteroselect.parts.allocate import Deadline
from heteroselect.parts.compress import Drive, Ternary, TopK
from parts.allocate.situations import allocate, context, links

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
CLIENTS = st.lists(st.tuples(st.floats(0.5, 50), st.floats(0, 20)), min_size=1, max_size=10)


def told(up, computing=0.0, **more):
    """Links in Mb/s and an update of a million bits at density 1."""
    more = {"real_bits": 32, "coder": Drive(), **more}
    return context(links(1e6 * np.array(up), computing, size=10**6, **more))


def test_who_trains_for_longer_sends_for_less_long():
    # by T = 1.3 s the first has sent for 0.3 s at 1 Mb/s and the second for 0.1 s at 5 Mb/s: 0.3 and 0.5
    found = allocate(Deadline(0.4), [0, 0], told([1, 5], [1.0, 1.2]))
    assert_allclose(found.densities, [0.3, 0.5])


def test_a_deadline_in_seconds_by_hand():
    found = allocate(Deadline(deadline=1.25), [0] * 4, told([1, 2, 8, 1], [1.0, 1.0, 1.0, 3.0]))
    assert_allclose(found.densities, [0.25, 0.5, 1.0, 0.05])  # the last one is late whatever it sends
    assert found.theta == pytest.approx(1.8 / 4)


def test_the_steps_that_are_ordered_count_and_not_those_of_everybody():
    situation = told([1, 5], [1.0, 4.0], own_passes=np.array([4.0, 1.0]))
    assert_allclose(situation.links.working, [4.0, 4.0])
    assert_allclose(allocate(Deadline(0.3), [0, 0], situation).densities, [0.1, 0.5])


@pytest.mark.parametrize(
    ("more", "bits"),
    [
        ({}, 1.0),  # DRIVE's own bit
        ({"real_bits": None}, 32.0),  # as the paper's clock counts
        ({"coder": None}, 32 + position_bits(0.5)),  # values and positions of any other
    ],
)
def test_bits_are_those_that_the_clock_will_charge(more, bits):
    # the second needs 1 s more and has ten times the link; with b bits: T − 1 = x, x/b + 10(x − 1)/b = 1
    x = (bits + 10) / 11
    wanted = [x / bits, 10 * (x - 1) / bits] if x > 1 else None
    found = allocate(Deadline(0.5, minimum=1e-6), [0, 0], told([1, 10], [1.0, 2.0], **more)).densities
    assert found.sum() == pytest.approx(1)
    if wanted and max(wanted) <= 1:
        assert_allclose(found, wanted, rtol=1e-6)
    else:
        assert_allclose(found, [1.0, 1e-6], atol=2e-6)


@given(clients=CLIENTS, average=st.floats(0.05, 1))
@RANDOM
def test_the_mean_is_exact_and_all_who_are_not_at_a_bound_finish_together(clients, average):
    up, computing = np.array(clients).T
    situation = told(up, computing)
    found = allocate(Deadline(average), np.zeros(len(up)), situation).densities
    assert found.mean() == pytest.approx(average, rel=1e-9)
    assert ((found >= 0.05) & (found <= 1)).all()
    ends = computing + found / up
    free = (found > 0.05 * (1 + 1e-9)) & (found < found.max() * (1 - 1e-9))
    if free.any():
        assert_allclose(ends[free], ends.max(), rtol=1e-9)


def others(found, scores, rng):
    """Shapes of other plans: uniform, in proportion to scores (the paper's eq. 8), at random, and near this one."""
    return (
        np.ones(len(found)),
        scores,
        rng.exponential(size=len(found)) + 0.01,
        found * rng.uniform(0.9, 1.1, len(found)),
    )


def largest(shape, fits):
    """As much of a shape, between the bounds, as fits; None where not even its least does."""
    plans = [plan for plan in np.clip(np.geomspace(1e-3, 1e3, 400)[:, None] * shape, 0.05, 1) if fits(plan)]
    return plans[-1] if plans else None


@pytest.mark.parametrize("given_seconds", [False, True])
@pytest.mark.parametrize("coder", [Drive(), Ternary()], ids=["drive", "ternary"])
@given(clients=CLIENTS, average=st.floats(0.06, 0.9), spare=st.floats(0.01, 5), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_no_other_plan_of_as_many_seconds_has_less_variance(coder, given_seconds, clients, average, spare, seed):
    """With `average` the bytes are given, too: where one device's training decides about the seconds, the others could
    send more within them, and do not."""
    (up, computing), rng = np.array(clients).T, np.random.default_rng(seed)
    limit = max(computing + 0.05 / up) + spare  # so that everybody can be in time
    part = Deadline(deadline=limit) if given_seconds else Deadline(average)
    found = allocate(part, np.zeros(len(up)), told(up, computing, coder=coder)).densities
    seconds, sent = (limit, np.inf) if given_seconds else (max(computing + found / up), found.sum())
    slack = 1 + 1e-12
    assert max(computing + found / up) <= seconds * slack
    for shape in others(found, rng.exponential(size=len(up)) + 0.05, rng):
        plan = largest(shape, lambda one: max(computing + one / up) <= seconds * slack and one.sum() <= sent * slack)
        if plan is not None:
            assert sum(map(coder.variance, plan)) >= sum(map(coder.variance, found)) * (1 - 1e-6)


@pytest.mark.parametrize("slowest", [1.0, 1.4])  # whose training decides about the seconds, the second time
def test_a_general_solver_finds_nothing_better_for_as_many_seconds_and_bytes(slowest):
    up, computing = np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 1.05, slowest, 0.9])
    found = allocate(Deadline(0.2), np.zeros(4), told(up, computing)).densities
    seconds = max(computing + found / up)
    levelled = np.isclose(found, found.max()).sum() > 1
    assert levelled == (slowest > 1)
    solved = minimize(
        lambda x: np.sum(np.pi / (2 * x) - 1),
        np.full(4, 0.05),
        bounds=[(0.05, 1)] * 4,
        constraints=[
            {"type": "ineq", "fun": lambda x: seconds - computing - x / up},
            {"type": "ineq", "fun": lambda x: 0.8 - x.sum()},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert_allclose(found, solved.x, rtol=1e-3)


def test_drive_knows_its_variance_and_others_do_not():
    assert isinstance(Drive(), Coder)
    assert not isinstance(TopK(), Coder)
    # π/2 − 1, and π − 1 at half of the bits
    assert [Drive().variance(1.0), Drive().variance(0.5)] == pytest.approx([0.5707963268, 2.1415926536])
    assert Drive().variance(0.0) == np.inf
