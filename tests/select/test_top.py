"""The highest scores, and the candidates of power-of-choice."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from heteroselect.moment import Moment
from heteroselect.population import Population
from heteroselect.select import Situation
from heteroselect.select.top import Top, candidates

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
DRAWS = 4000


def top(scores, size, rng):
    scores = np.array(scores, float)
    return Top().select(scores, Situation(size, Moment(1, 10), rng, Population.new(np.full(len(scores), 10)))).ids


def test_the_highest_are_taken_in_their_order():
    assert top([0.3, 2.0, -1.0, 0.7], 3, default_rng(0)).tolist() == [1, 3, 0]


def test_a_client_nobody_has_heard_of_goes_first():
    assert top([0.3, math.inf, 0.7, math.inf, 0.9], 3, default_rng(0))[:3].tolist()[2] == 4


def test_ties_are_broken_at_random():
    rng, seen = default_rng(2), np.zeros(4)
    for _ in range(DRAWS):
        ids = top([1.0, 1.0, 5.0, 1.0], 2, rng)
        assert ids[0] == 2
        seen[ids[1]] += 1 / DRAWS
    assert (abs(seen[[0, 1, 3]] - 1 / 3) <= 4 * math.sqrt(2 / 9 / DRAWS)).all()


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=10), st.data())
@RANDOM
def test_nobody_left_out_has_a_higher_score(scores, data):
    size = data.draw(st.integers(1, len(scores)))
    ids = top(scores, size, default_rng(data.draw(st.integers(0, 99)))).tolist()
    assert len(set(ids)) == size
    left = [scores[k] for k in range(len(scores)) if k not in ids]
    assert not left or min(scores[k] for k in ids) >= max(left)


def test_what_is_not_a_number_is_rejected():
    with pytest.raises(ValueError, match="not a number"):
        top([0.1, math.nan], 1, default_rng(0))


@pytest.mark.parametrize("size", [0, 3])
def test_nobody_or_more_than_all_cannot_be_taken(size):
    with pytest.raises(ValueError, match="cannot be taken"):
        top([0.1, 0.2], size, default_rng(0))


def test_candidates_are_drawn_by_their_data():
    rng, seen = default_rng(4), np.zeros(3)
    for _ in range(DRAWS):
        seen[candidates(np.array([10, 30, 60]), 1, rng)] += 1 / DRAWS
    p = np.array([0.1, 0.3, 0.6])
    assert (abs(seen - p) <= 4 * np.sqrt(p * (1 - p) / DRAWS)).all()


def test_as_many_candidates_as_places_is_weighted_sampling_and_all_clients_is_the_top():
    scores, sizes = default_rng(0).random(8), np.arange(1, 9) * 10
    asked = candidates(sizes, 3, default_rng(1))
    assert sorted(asked[top(scores[asked], 3, default_rng(2))]) == sorted(asked)  # d = m: the loss does not matter
    asked = candidates(sizes, 8, default_rng(1))
    chosen = asked[top(scores[asked], 3, default_rng(2))]
    assert chosen.tolist() == np.argsort(-scores)[:3].tolist()  # d = K: the data do not matter
