"""The screen: what is orders of magnitude too long is refused, what is merely long is not."""

import numpy as np

from heteroselect.core.update import Update
from heteroselect.parts.aggregate import Screen


def of(*lengths: float) -> dict[int, Update]:
    return {k: Update.whole(np.array([0, length], np.float32)) for k, length in enumerate(lengths)}


def test_the_median_of_the_cohort_is_the_measure() -> None:
    assert Screen(10).refused(of(1, 2, 3, 30.1, 20)) == {3}
    assert Screen(10).refused(of(1, 2, 3, 29.9, 20)) == set()


def test_zero_refuses_nobody() -> None:
    assert Screen(0).refused(of(1, 1, 1e9)) == set()


def test_two_have_no_majority_and_zero_is_no_measure() -> None:
    assert Screen().refused(of(1, 1e9)) == set()
    assert Screen().refused(of(1, 1e9), np.array([1.0, 1.0])) == set()
    assert Screen().refused(of(0, 0, 5)) == set()
    assert Screen().refused({}) == set()


def test_a_small_cohort_is_measured_by_those_accepted_before() -> None:
    history = np.array([1.0, 2.0, 3.0])
    assert Screen(10).refused(of(20.1), history) == {0}
    assert Screen(10).refused(of(19.9), history) == set()
    assert Screen(10).refused(of(1, 20.1), history) == {1}
    assert Screen(10).refused(of(30, 31, 32), history) == set(), "three are a majority of their own"


def test_the_last_lengths_are_remembered_in_the_order_of_the_clients() -> None:
    first = Screen().remember(None, {5: of(4)[0], 2: of(3)[0]})
    assert first.tolist() == [3.0, 4.0]
    long = Screen().remember(np.arange(40.0), {1: of(7)[0]})
    assert long.tolist() == [*np.arange(10.0, 40.0), 7.0]


def test_what_no_model_could_take_is_always_refused() -> None:
    assert Screen(0).refused(of(3e38)) == {0}
    assert Screen().refused(of(3e38, 3e38, 1)) == {0, 1}
