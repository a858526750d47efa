"""Softmax selection (eq. 6): its temperature and its law."""

import math

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.parts.select import SelectionContext, Softmax

LAST = Moment(100, 100)  # where τ is 0.5
DRAWS = 10_000


def draw(selector, scores, size, rng):
    clients = len(scores)
    context = SelectionContext(LAST, np.arange(clients), Population.new(np.full(clients, 10)), size, rng)
    return selector.select(np.array(scores, float), context)


@pytest.mark.parametrize(("round", "tau"), [(1, 0.995), (50, 0.75), (100, 0.5), (130, 0.5)])
def test_the_temperature_falls_to_its_half_and_no_further(round, tau):
    assert Softmax().tau(Moment(round, 100)) == pytest.approx(tau)
    assert Softmax(temperature=3).tau(Moment(round, 100)) == pytest.approx(3 * tau)


def test_eq_6_by_hand():
    # τ = 0.5 and scores 0 and ½ ln 3: exp(0) against exp(ln 3), so one to three
    rng = default_rng(7)
    cohorts = [draw(Softmax(), [0, math.log(3) / 2], 1, rng) for _ in range(DRAWS)]
    assert cohorts[0].tau == 0.5
    first = np.mean([cohort.ids[0] == 0 for cohort in cohorts])
    assert abs(first - 1 / 4) <= 4 * math.sqrt(3 / 16 / DRAWS)


def test_near_the_temperature_of_zero_the_best_are_taken_in_their_order():
    cohort = draw(Softmax(temperature=0.01), [0.4, 0.0, 1.0, 0.7], 2, default_rng(0))
    assert cohort.ids.tolist() == [2, 3]
    assert_allclose(cohort.inclusion, 1)
