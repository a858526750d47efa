"""Figures over seeds, reckoned by hand: who never arrives counts, and an interval covers as often as it says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heteroselect.comparison.figures import FIGURES, Run
from heteroselect.comparison.over_seeds import ENOUGH, Arrivals, horizon, interval, number, spread

ENDS = (100.0,) * 5


@pytest.mark.parametrize(
    ("values", "median", "restricted", "text"),
    [
        # all: the median of 10, 20, 30, 40, 60 is 30, their mean 32
        ((10.0, 20.0, 30.0, 40.0, 60.0), 30.0, 32.0, "30.0 (10.0 – 60.0)"),
        # three of five: sorted 10, 20, 60, never, never; (10 + 20 + 60 + 100 + 100) / 5 = 58. The mean of the three
        # that arrived would be 30, and would say that this is the faster method
        ((10.0, None, 20.0, None, 60.0), 60.0, 58.0, "60.0 (from 10.0), 3 of 5 arrived"),
        ((None, None, 20.0, None, 60.0), None, 76.0, "> 100.0, 2 of 5 arrived"),
        ((None,) * 5, None, 100.0, "> 100.0, 0 of 5 arrived"),
        ((7.5,) * 5, 7.5, 7.5, "7.50"),
    ],
)
def test_a_seed_that_never_arrives_counts(values, median, restricted, text) -> None:
    found = Arrivals(values, ENDS)
    assert found.median == median
    assert found.restricted(100.0) == restricted
    assert found.text == text


def test_with_an_even_number_the_median_has_arrived_only_if_both_middle_ones_have() -> None:
    assert Arrivals((1, 3, None, 2), ENDS[:4]).median == 2.5
    found = Arrivals((1.0, 3.0, None, None), ENDS[:4])
    assert found.median is None
    # it is (3 + x)/2, and of x nothing is known but that it is more than 100
    assert found.beyond == 51.5
    assert found.text == "> 51.5, 2 of 4 arrived"


def test_whole_numbers_stay_whole() -> None:
    assert Arrivals((3, 4, 4), (100,) * 3).text == "4 (3 – 4)"
    assert Arrivals((3, 4), (100, 100)).text == "3.50 (3.00 – 4.00)"
    assert Arrivals((None,), (100,)).text == "> 100, 0 of 1 arrived"
    assert Arrivals((None,), (None,)).text == "not reached"
    assert Arrivals((None, None, 4), (None, None, 9)).text == "not reached, 1 of 3 arrived"
    assert (number(5), number(5.0), number(1234.5), number(99.96)) == ("5", "5.00", "1,234", "100.0")


def test_the_horizon_is_the_smallest_end_of_the_runs_that_did_not_arrive() -> None:
    """A run that stopped early because it had arrived does not shorten it."""
    soon = Arrivals((5.0, 6.0), (7.0, 8.0))
    late = Arrivals((None, 80.0), (90.0, 95.0))
    later = Arrivals((None, None), (92.0, 70.0))
    assert horizon([soon, late]) == 90.0
    assert horizon([soon, late, later]) == 70.0
    assert late.restricted(70.0) == 70.0, "an arrival beyond the horizon is not known there"
    assert horizon([soon, Arrivals((9.0,), (20.0,))]) == 9.0, "nothing is cut off where all arrived"
    assert horizon([soon, Arrivals((None,), (None,))]) is None
    assert horizon([]) is None


@given(st.lists(st.one_of(st.none(), st.floats(0.1, 50)), min_size=1, max_size=9), st.floats(50, 90))
def test_arriving_less_often_never_makes_a_row_look_better(values, limit) -> None:
    """What the mean over survivors gets wrong: take one arrival away, and no figure may fall."""
    before = Arrivals(tuple(values), (limit,) * len(values))
    for place, value in enumerate(values):
        if value is not None:
            after = Arrivals((*values[:place], None, *values[place + 1 :]), before.ends)
            assert after.restricted(limit) >= before.restricted(limit)
            assert (after.median or np.inf) >= (before.median or np.inf)


def test_the_interval_is_students_below_twenty_pairs() -> None:
    # t(0.975, 2) = 4.303; differences 1, 2, 3 have a standard error of 1/√3
    found = interval([1, 2, 3])
    assert (found.mean, found.half, found.kind) == (2.0, pytest.approx(4.302653 / np.sqrt(3)), "Student's t")
    assert not found.apart
    one = interval([0.5])
    assert (one.mean, one.low, one.high, one.apart) == (0.5, None, None, False)
    assert interval([]) is None


def test_from_twenty_pairs_on_it_is_bootstrapped_always_alike() -> None:
    some = np.random.default_rng(3).exponential(size=ENOUGH).tolist()
    found, again = interval(some), interval(some)
    assert found == again
    assert found.kind == "BCa bootstrap"
    assert found.high - found.mean > found.mean - found.low, "a long tail upwards makes it longer upwards"


def test_many_equal_differences_have_an_interval() -> None:
    """Their mean is off by a rounding, so that their deviation is not quite zero."""
    found = interval([0.1] * 21)
    assert [found.low, found.high] == pytest.approx([0.1, 0.1])


@pytest.mark.parametrize(("budget", "expected"), [(99, None), (100, 0.3), (199, 0.3), (200, 0.8), (1000, 0.8)])
def test_accuracy_at_equal_bytes_by_hand(budget: float, expected: float | None) -> None:
    evaluated = zip((0.3, None, 0.8), (100e6, 50e6, 50e6), strict=True)
    lines = [{"accuracy": accuracy, "bytes_up": sent} for accuracy, sent in evaluated]
    found = FIGURES["accuracy_at_equal_bytes"].of(Run({}, lines, {"wire_megabytes": budget}))
    assert found == (expected and pytest.approx(expected))


def test_a_mean_is_that_of_all_seeds_or_of_none() -> None:
    assert [spread([None, None]), spread([1234.5])] == ["— (0 of 2)", "1,234"]
