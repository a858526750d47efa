"""The majority vote of signs."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.core.update import Update
from heteroselect.parts.aggregate import Majority, Mean

RANDOM = settings(max_examples=80, deadline=None, derandomize=True)


def vote(*signs, scale=1.0, rate=0.5):
    updates = [Update.whole(np.float32(scale) * np.array(each, np.float32)) for each in signs]
    mean = Mean().aggregate(updates, np.full(len(signs), 1 / len(signs)), len(signs[0]))
    return Majority(rate).step({}, mean)[1]


def test_a_tie_stays_where_it_is():
    assert vote([1, 1], [-1, 1]).tolist() == [0, 0.5]


@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.sampled_from([1e-4, 1.0, 7.3]))
@RANDOM
def test_votes_are_counted_whatever_rounding_leaves_of_a_tie(clients, seed, scale):
    signs = np.random.default_rng(seed).choice([-1, 1], (clients, 30))
    signs[:, 0] = 1  # one coordinate on which all agree
    assert_allclose(vote(*signs, scale=scale, rate=0.25), 0.25 * np.sign(signs.sum(0)))


def test_the_step_is_in_single_precision_and_nothing_is_kept():
    state, step = Majority(1e-3).step({"old": np.ones(1)}, np.array([3, -2], np.float32))
    assert dict(state) == {}
    assert step.dtype == np.float32
    assert_allclose(step, [1e-3, -1e-3])
