"""What every plan for measuring batch-norm statistics promises."""

from hypothesis import given
from hypothesis import strategies as st

from contracts.found import each
from heteroselect.parts.aggregate import Calibration


@each("calibrate", Calibration(batches=7, clients=5), Calibration(40, 2, "in-turn"))
@given(available=st.lists(st.integers(1, 30), min_size=1, max_size=10))
def test_whole_batches_of_the_first_clients_and_no_more_than_are_ordered(part, available):
    before = list(available)
    plan = part.plan(available)
    assert available == before
    assert plan == part.plan(available)
    assert 1 <= len(plan) <= len(available)
    assert all(type(batches) is int and batches >= 0 for batches in plan)
    assert sum(plan) <= part.batches
    assert (sum(plan) > 0) == (part.batches > 0)
