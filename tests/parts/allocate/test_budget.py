"""The round's budget θ_t (eq. 7): a warm-up, then half a cosine."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heteroselect.core.moment import Moment
from heteroselect.parts.allocate import ScoreShare


def schedule(budget: ScoreShare, rounds: int) -> list[float]:
    return [budget.theta(Moment(t, rounds)) for t in range(1, rounds + 1)]


def test_after_the_warmup_the_budget_runs_from_28_to_12_percent():
    thetas = schedule(ScoreShare(), 100)
    assert thetas[0] == 1
    assert thetas[1] == pytest.approx(0.2 * (1 + 0.4))
    assert thetas[50] == pytest.approx(0.2)  # round 51 of 2…100 is the middle, and cos(π/2) = 0
    assert thetas[99] == pytest.approx(0.2 * (1 - 0.4))
    assert all(a > b for a, b in pairwise(thetas))


def test_eq_7_by_hand():
    # (t − 1)/(T − 1) = 0, 1/3, 2/3, 1, whose cosines (of π times it) are 1, ½, −½, −1
    assert schedule(ScoreShare(warmup_rounds=0), 4) == pytest.approx([0.28, 0.2 * 1.2, 0.2 * 0.8, 0.12])
    # counted from the first round after the warm-up: 0, ½, 1
    assert schedule(ScoreShare(), 4) == pytest.approx([1, 0.28, 0.2, 0.12])


def test_the_floor_and_everything_are_its_bounds():
    # 0.2·(1 − 0.9) = 0.02 lies under the floor, and 0.9·1.4 over everything
    assert schedule(ScoreShare(amplitude=0.9), 3) == pytest.approx([1, 0.38, 0.08])
    assert schedule(ScoreShare(average=0.9, warmup_rounds=0), 3) == pytest.approx([1, 0.9, 0.54])


def test_short_runs_are_warmup_and_the_top_of_the_cosine():
    assert schedule(ScoreShare(), 1) == [1]
    assert schedule(ScoreShare(warmup_rounds=0), 1) == pytest.approx([0.28])
    assert schedule(ScoreShare(), 2) == pytest.approx([1, 0.28])
    assert schedule(ScoreShare(warmup_rounds=5), 3) == [1, 1, 1]


@given(st.integers(2, 60), st.floats(0, 0.6), st.integers(0, 1))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_mean_of_the_cosine_is_the_average(rounds, amplitude, warmup):
    # rounds t and T + 1 − t cancel; α up to 0.6 keeps 0.2·(1 − α) above the floor of 0.08
    cosine = schedule(ScoreShare(amplitude=amplitude, warmup_rounds=warmup), rounds + warmup)[warmup:]
    assert math.fsum(cosine) / len(cosine) == pytest.approx(0.2)


def test_the_ramp_of_deep_gradient_compression_by_hand():
    # 0.001^{1/6}, …: the repository's schedule for five warm-up rounds
    budget = ScoreShare(average=0.001, amplitude=0.0, floor=0.001, warmup_rounds=5, warmup="ramp")
    found = [budget.theta(Moment(t, 20)) for t in range(1, 8)]
    expected = [0.001 ** (t / 6) for t in range(1, 6)] + [0.001, 0.001]
    assert found == pytest.approx(expected)
