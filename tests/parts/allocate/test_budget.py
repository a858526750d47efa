"""The round's budget θ_t (eq. 7): a warm-up, then half a cosine."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heteroselect.core.moment import Moment
from heteroselect.parts.allocate import Schedule


def schedule(budget: Schedule, rounds: int) -> list[float]:
    return [budget.theta(Moment(t, rounds)) for t in range(1, rounds + 1)]


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def test_after_the_warmup_the_budget_runs_from_28_to_12_percent():
    thetas = schedule(Schedule(), 100)
    assert thetas[0] == 1
    assert thetas[1] == pytest.approx(0.2 * (1 + 0.4))
    assert thetas[50] == pytest.approx(0.2)  # round 51 of 2…100 is the middle, and cos(π/2) = 0
    assert thetas[99] == pytest.approx(0.2 * (1 - 0.4))
    assert all(a > b for a, b in pairwise(thetas))


def test_eq_7_by_hand():
    # (t − 1)/(T − 1) = 0, 1/3, 2/3, 1, whose cosines (of π times it) are 1, ½, −½, −1
    equation = Schedule(index="equation", warmup_rounds=0)
    assert schedule(equation, 4) == pytest.approx([0.28, 0.2 * 1.2, 0.2 * 0.8, 0.12])
    # the warm-up takes the first round's place, and the equation goes on counting from round 1
    assert schedule(Schedule(index="equation"), 4) == pytest.approx([1, 0.24, 0.16, 0.12])
    # counted from the first round after the warm-up: 0, ½, 1
    assert schedule(Schedule(), 4) == pytest.approx([1, 0.28, 0.2, 0.12])


def test_the_floor_holds():
    # 0.2·(1 − 0.9) = 0.02 lies under it
    assert schedule(Schedule(amplitude=0.9), 3) == pytest.approx([1, 0.38, 0.08])


def test_a_budget_is_never_more_than_everything():
    assert schedule(Schedule(average=0.9, warmup_rounds=0), 3) == pytest.approx([1, 0.9, 0.54])


@pytest.mark.parametrize("index", ["after-warmup", "equation"])
def test_a_run_of_one_round_is_the_warmup(index):
    assert schedule(Schedule(index=index), 1) == [1]
    assert schedule(Schedule(index=index, warmup_rounds=0), 1) == pytest.approx([0.28])


def test_a_single_round_after_the_warmup_gets_the_top_of_the_cosine():
    assert schedule(Schedule(), 2) == pytest.approx([1, 0.2 * (1 + 0.4)])
    # the equation has no such case: round 2 of 2 is its end
    assert schedule(Schedule(index="equation"), 2) == pytest.approx([1, 0.2 * (1 - 0.4)])


@pytest.mark.parametrize("warmup", [0, 1, 3])
def test_warmup_rounds_are_counted(warmup):
    budget = Schedule(warmup_rounds=warmup)
    assert [budget.warming_up(Moment(t, 10)) for t in range(1, 11)] == [True] * warmup + [False] * (10 - warmup)
    assert schedule(budget, 10)[:warmup] == [1] * warmup
    assert schedule(budget, 10)[warmup] == pytest.approx(0.28)
    assert schedule(budget, 10)[-1] == pytest.approx(0.12)


@pytest.mark.parametrize("exact", [False, True])
def test_a_run_shorter_than_its_warmup_is_all_warmup(exact):
    assert schedule(Schedule(warmup_rounds=5, exact=exact), 3) == [1, 1, 1]


@given(st.integers(2, 60), st.floats(0, 0.6), st.integers(0, 1))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_mean_of_the_cosine_is_the_average(rounds, amplitude, warmup):
    # rounds t and T + 1 − t cancel; α up to 0.6 keeps 0.2·(1 − α) above the floor of 0.08
    cosine = schedule(Schedule(amplitude=amplitude, warmup_rounds=warmup), rounds + warmup)[warmup:]
    assert mean(cosine) == pytest.approx(0.2)


@pytest.mark.parametrize("index", ["after-warmup", "equation"])
@pytest.mark.parametrize("rounds", [8, 10, 100])
def test_an_exact_budget_spends_the_average_over_the_whole_run(rounds, index):
    thetas = schedule(Schedule(exact=True, index=index), rounds)
    assert thetas[0] == 1
    assert mean(thetas) == pytest.approx(0.2)
    assert min(thetas) >= 0.08


def test_an_exact_budget_of_nearly_everything_is_spent_too():
    thetas = schedule(Schedule(average=0.9, exact=True), 20)
    assert mean(thetas) == pytest.approx(0.9)
    assert max(thetas) == 1


def test_an_exact_budget_keeps_the_shape_of_the_cosine():
    # 100·0.2 − 1 = 19 are left for a cosine that would spend 99·0.2 = 19.8
    scaled, plain = schedule(Schedule(exact=True), 100)[1:], schedule(Schedule(), 100)[1:]
    assert scaled == pytest.approx([theta * 19 / 19.8 for theta in plain])


@pytest.mark.parametrize("rounds", [2, 5, 6])
def test_an_exact_budget_that_the_warmup_has_spent_falls_to_the_floor(rounds):
    # 5·0.2 − 1 = 0 leaves nothing, 6·0.2 − 1 = 0.2 less than five floors
    assert schedule(Schedule(exact=True), rounds)[1:] == [0.08] * (rounds - 1)


def test_the_ramp_of_deep_gradient_compression_by_hand():
    # 0.001^{1/6}, …: the repository's schedule for five warm-up rounds
    budget = Schedule(average=0.001, amplitude=0.0, floor=0.001, warmup_rounds=5, warmup="ramp")
    found = [budget.theta(Moment(t, 20)) for t in range(1, 8)]
    expected = [0.001 ** (t / 6) for t in range(1, 6)] + [0.001, 0.001]
    assert found == pytest.approx(expected)


def test_the_exact_mean_counts_the_ramp():
    budget = Schedule(average=0.2, floor=0.01, warmup_rounds=3, warmup="ramp", exact=True)
    assert sum(budget.theta(Moment(t, 30)) for t in range(1, 31)) / 30 == pytest.approx(0.2)
