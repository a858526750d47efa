"""Averages of the server's models by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heteroselect.core.moment import Moment
from heteroselect.parts.aggregate import ExponentialAverage, TailAverage


def averages(part, models, rounds):
    state, found = {}, []
    for t, model in enumerate(models, start=1):
        vector = np.array([model], np.float32)
        state = part.add(state, vector, Moment(t, rounds))
        found.append(float(part.mean(state, vector)[0]))
    return found


def test_the_exponential_average_by_hand():
    """k = 0, 1/11, then at most 1/8: 0; 0 + 10/11·11 = 10; 1/8·10 + 7/8·2 = 3."""
    assert_allclose(averages(ExponentialAverage(0.125), [0, 11, 2], 9), [0, 10, 3], rtol=1e-6)


def test_the_default_keeps_nine_tenths_from_the_ninetieth_model_on():
    """At the step from 0 to 1 in model s + 1 the average becomes 1 − k: k = 40/50, 90/100, and 0.9 from then on."""
    for before, kept in ((40, 0.8), (90, 0.9), (200, 0.9)):
        assert averages(ExponentialAverage(), [0] * before + [1], 300)[-1] == pytest.approx(1 - kept, rel=1e-5)


def test_the_first_model_is_not_remembered_for_ever():
    """The weight of the first of t models is ∏ k; with a ramp of 10 that is 1/C(t + 9, 10), at t = 3: 1·2/(11·12)."""
    assert averages(ExponentialAverage(0.99), [1, 0, 0], 9)[-1] == pytest.approx(2 / 132, rel=1e-5)


def test_the_tail_is_the_plain_mean_of_the_last_rounds():
    models = [5, 1, 9, 2, 4, 6]
    assert averages(TailAverage(share=0.5), models, 6) == [5, 1, 9, 2, 3, 4]
    assert averages(TailAverage(share=0.01), models, 6) == models, "at least the last one"
    assert averages(TailAverage(share=1.0), [2, 4], 6) == [2, 3]
