"""What a selector answers, and what becomes of a cohort of which not all arrive."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.core.cohort import Cohort, SelectionContext, checked
from heteroselect.core.moment import Moment
from heteroselect.core.part import FieldError
from heteroselect.core.population import Population

ALLOWED = np.array([2, 3, 5, 8])
RANDOM = settings(max_examples=60, deadline=None, derandomize=True)


def test_those_present_stand_for_the_absent():
    # 0.4 + 0.2 + 0.6 = 1.2; the two present have 0.6 of it and count twice as much
    cohort = Cohort(np.array([7, 3, 5]), np.array([0.1, 0.2, 0.3]), share=np.array([0.4, 0.2, 0.6]))
    some = cohort.only(np.array([1, 0]))
    assert some.ids.tolist() == [3, 7]
    assert some.inclusion.tolist() == [0.2, 0.1]
    assert_allclose(some.share, [0.4, 0.8])


def test_a_cohort_without_shares_gets_none():
    assert Cohort(np.array([7, 3]), np.ones(2)).only(np.array([0])).share is None


@pytest.mark.parametrize("places", [[], [0]])
def test_shares_of_nothing_stay_nothing(places):
    cohort = Cohort(np.array([7, 3]), np.ones(2), share=np.array([0.0, 1.0]))
    assert cohort.only(np.array(places, np.int64)).share.tolist() == [0.0] * len(places)


@given(st.lists(st.floats(0.01, 5), min_size=1, max_size=8), st.data())
@RANDOM
def test_shares_keep_their_sum_and_their_ratios(share, data):
    share = np.array(share)
    places = np.array(data.draw(st.permutations(range(len(share)))))[: data.draw(st.integers(1, len(share)))]
    some = Cohort(np.arange(len(share)), np.ones(len(share)), share=share).only(places)
    assert_allclose(some.share.sum(), share.sum())
    assert_allclose(some.share / some.share[0], share[places] / share[places[0]])


@pytest.mark.parametrize(
    ("ids", "inclusion", "sentence"),
    [
        ([2, 2, 3], [1, 1, 1], "each once"),
        ([-1, 2], [1, 1], "choose among the 4 numbers in context.ids"),
        ([0], [1], "choose among the 4 numbers in context.ids"),
        ([9], [1], "choose among the 4 numbers in context.ids"),
        ([], [], "one or more whole numbers"),
        ([2.0, 3.0], [1, 1], "whole numbers"),
        ([[2, 3]], [[1, 1]], "whole numbers"),
        ([2, 3], [1], "one finite number of inclusion for each of 2"),
        ([2, 3], [1, np.nan], "one finite number of inclusion"),
    ],
)
def test_what_a_selector_must_not_answer_is_said(ids, inclusion, sentence):
    with pytest.raises(FieldError, match=sentence):
        checked(Cohort(np.array(ids), np.array(inclusion, float)), ALLOWED)


def test_a_list_will_do():
    found = checked(Cohort([3, 8], [1, 2], share=[0.5, 0.5]), ALLOWED)
    assert (found.ids.tolist(), found.inclusion.tolist(), found.share.tolist()) == ([3, 8], [1.0, 2.0], [0.5, 0.5])


@pytest.mark.parametrize("answer", [np.array([1, 2]), [1, 2], None])
def test_what_is_no_cohort_is_said(answer):
    with pytest.raises(FieldError, match="allowed is a Cohort"):
        checked(answer, ALLOWED)


def test_an_inclusion_that_is_nothing_is_said():
    with pytest.raises(FieldError, match="one finite number of inclusion"):
        checked(Cohort(np.array([2]), None), ALLOWED)


def test_places_become_client_numbers():
    context = SelectionContext(Moment(1, 9), ALLOWED, Population.new(np.full(4, 10)))
    cohort = context.cohort(np.array([3, 0]), share=np.array([0.5, 0.25]), tau=0.7, state={"x": np.ones(1)})
    assert (cohort.ids.tolist(), cohort.inclusion.tolist(), cohort.share.tolist()) == ([8, 2], [1, 1], [0.5, 0.25])
    assert (cohort.tau, list(cohort.state)) == (0.7, ["x"])


def test_what_a_part_was_not_given_is_named():
    context = SelectionContext(Moment(1, 9), ALLOWED, Population.new(np.full(4, 10)))
    with pytest.raises(ValueError, match="links"):
        _ = context.links
    with pytest.raises(ValueError, match="generator"):
        _ = context.random
