"""Who measures the batch-norm statistics, and on how many batches."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heteroselect.parts.aggregate import Calibration

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
AVAILABLE = st.lists(st.integers(1, 30), min_size=1, max_size=10)


@pytest.mark.parametrize(
    ("calibration", "available", "plan"),
    [
        (Calibration(), [19] * 10, [7, 7, 6]),
        (Calibration(), [19, 19], [10, 10]),
        (Calibration(), [19], [20]),
        (Calibration(batches=2), [19] * 10, [1, 1, 0]),
        (Calibration(batches=0), [19] * 10, [0, 0, 0]),
        (Calibration(batches=10, clients=10), [19] * 10, [1] * 10),
        (Calibration(split="in-turn"), [16] * 10, [16, 4, 0]),
        (Calibration(split="in-turn"), [5, 6, 7, 8], [5, 6, 7]),
        (Calibration(split="in-turn"), [25, 25, 25], [20, 0, 0]),
        (Calibration(split="in-turn"), [3], [3]),
        (Calibration(split="in-turn", batches=0), [16, 16], [0, 0]),
    ],
)
def test_plans_by_hand(calibration, available, plan):
    assert calibration.plan(available) == plan


@given(AVAILABLE, st.integers(0, 40), st.integers(1, 5))
@RANDOM
def test_an_even_plan_spends_all_and_favours_nobody(available, batches, clients):
    plan = Calibration(batches, clients).plan(available)
    assert len(plan) == min(clients, len(available))
    assert sum(plan) == batches
    assert max(plan) - min(plan) <= 1


@given(AVAILABLE, st.integers(0, 40), st.integers(1, 5))
@RANDOM
def test_a_plan_in_turn_uses_up_each_client_before_the_next(available, batches, clients):
    plan = Calibration(batches, clients, "in-turn").plan(available)
    asked = available[:clients]
    assert sum(plan) == min(batches, sum(asked))
    for i in range(1, len(plan)):
        assert plan[i] == 0 or plan[:i] == asked[:i]
    assert all(p <= a for p, a in zip(plan, asked, strict=True))
