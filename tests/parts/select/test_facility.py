"""Facility location: who stands for everybody?"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from heteroselect.parts.select.facility import cost, farthest, greedy, lazy, represented

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
POINTS = st.lists(st.integers(-6, 6), min_size=1, max_size=12)


def line(*points):
    points = np.array(points, float)
    return abs(points[:, None] - points[None, :])


@pytest.mark.parametrize("pick", [greedy, lazy])
def test_three_points_by_hand(pick):
    table = line(0, 1, 10)
    ids = pick(table, 2)
    assert ids.tolist() == [1, 2]
    assert cost(table, ids) == 1
    assert represented(table, ids).tolist() == [2, 1]


@given(POINTS, st.integers(1, 12))
@RANDOM
def test_lazy_and_full_pick_the_same(points, size):
    assert lazy(line(*points), size).tolist() == greedy(line(*points), size).tolist()


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
@RANDOM
def test_lazy_and_full_pick_the_same_among_vectors(seed, size):
    points = default_rng(seed).standard_normal((30, 3))
    table = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert lazy(table, size).tolist() == greedy(table, size).tolist()


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=9), st.integers(1, 4))
@RANDOM
def test_picks_are_distinct_gain_less_and_less_and_come_near_the_optimum(points, size):
    table, size = line(*points), min(size, len(points))
    ids = greedy(table, size)
    assert len(set(ids.tolist())) == size
    start = farthest(table).sum()
    gained = start - np.array([cost(table, ids[: n + 1]) for n in range(size)])
    steps = np.diff(gained, prepend=0.0)
    assert (np.diff(steps) <= 1e-9).all()
    best = min(cost(table, np.array(chosen)) for chosen in itertools.combinations(range(len(points)), size))
    assert gained[-1] >= (1 - 1 / math.e) * (start - best) - 1e-9


@given(POINTS, st.integers(1, 12))
@RANDOM
def test_everybody_is_represented_once_and_by_the_nearest(points, size):
    table = line(*points)
    ids = lazy(table, size)
    counts = represented(table, ids)
    assert counts.sum() == len(points)
    assert (counts >= 1).all()
    nearest = table[ids].min(0)
    assert cost(table, ids) == pytest.approx(nearest.sum())


def test_clients_alike_give_way_to_the_lower_number():
    assert greedy(line(5, 5, 5, 5), 3).tolist() == [0, 1, 2]
    assert lazy(line(5, 5, 5, 5), 3).tolist() == [0, 1, 2]
    assert represented(line(5, 5, 5, 5), np.array([2, 0])).tolist() == [1, 3]


def test_a_near_tie_goes_to_the_faster():
    # both are almost in the middle: distances add up to 30.1 and 30.2, and all start from 5·20, so 69.9 against 69.8
    table = line(0, 10, 10.1, 20, 0)
    assert greedy(table, 1).tolist() == [1]
    assert greedy(table, 1, np.array([1.0, 9.0, 2.0, 1.0, 1.0])).tolist() == [2]
    assert greedy(table, 1, np.array([1.0, 2.0, 9.0, 1.0, 1.0])).tolist() == [1]
    assert greedy(table, 1, np.array([1.0, 9.0, 2.0, 1.0, 1.0]), slack=0.001).tolist() == [1]


def test_a_distance_that_is_none_is_rejected():
    for pick in (greedy, lazy):
        with pytest.raises(ValueError, match="not finite"):
            pick(np.array([[0, math.nan], [math.nan, 0]]), 1)
