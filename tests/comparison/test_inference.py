"""What a few paired runs can decide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heteroselect.comparison.inference import LEVEL, holm, p_value, pooled, smallest_visible
from heteroselect.comparison.over_seeds import interval


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=12), st.floats(-2, 2))
def test_a_p_value_is_below_the_level_where_the_interval_leaves_zero_out(values, beside):
    shifted = [value - beside for value in values]
    if np.ptp(shifted) < 1e-6:
        return
    found, p = interval(shifted), p_value(values, beside)
    if abs(p - LEVEL) > 1e-6:
        assert found.apart == (p < LEVEL)


def test_a_p_value_by_hand():
    # mean 2, standard deviation 1, three pairs: t = 2·√3 with two degrees of freedom
    assert p_value([1.0, 2.0, 3.0]) == pytest.approx(2 * stats.t.sf(2 * np.sqrt(3), 2))
    assert p_value([1.0]) is None
    assert (p_value([1.0, 1.0]), p_value([1.0, 1.0], 1.0)) == (0.0, 1.0)


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_lies_between_the_p_value_and_bonferronis(values):
    adjusted = holm(values)
    assert list(adjusted) == list(values)
    for name, value in values.items():
        assert min(1, value) <= adjusted[name] <= min(1, len(values) * value) + 1e-12 or value == 0
        assert all(adjusted[name] <= adjusted[other] for other in values if values[other] > value)
    assert adjusted[min(values, key=values.get)] == min(1, len(values) * min(values.values()))


def test_a_difference_of_the_visible_size_is_seen_four_times_in_five():
    size, draws = smallest_visible(2.0, 5), np.random.default_rng(0)
    seen = [p_value(draws.normal(size, 2.0, 5)) < LEVEL for _ in range(2000)]
    assert np.mean(seen) == pytest.approx(0.8, abs=0.03)
    assert smallest_visible(2.0, 1) is None
    assert smallest_visible(2.0, 3) > size > smallest_visible(2.0, 20)


def test_a_question_asked_in_several_worlds_is_one_observation_per_seed():
    assert pooled({}) == []
    assert pooled({"a": {1: 0.0, 2: 1.0}, "b": {2: 3.0, 1: 2.0}}) == [1.0, 2.0]
