"""Power-of-choice: the highest scores."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.parts.select import PowerOfChoice, SelectionContext

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
DRAWS = 4000


def top(scores, size, rng):
    clients = len(scores)
    context = SelectionContext(Moment(1, 10), np.arange(clients), Population.new(np.full(clients, 10)), size, rng)
    return PowerOfChoice().select(np.array(scores, float), context).ids


def test_the_highest_are_taken_in_their_order():
    assert top([0.3, 2.0, -1.0, 0.7], 3, default_rng(0)).tolist() == [1, 3, 0]


def test_an_infinite_score_goes_first():
    assert set(top([0.3, math.inf, 0.7, math.inf, 0.9], 3, default_rng(0))[:2].tolist()) == {1, 3}
    assert top([0.3, math.inf, 0.7, math.inf, 0.9], 3, default_rng(0))[2] == 4


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
    left = [scores[k] for k in range(len(scores)) if k not in ids]
    assert not left or min(scores[k] for k in ids) >= max(left)
