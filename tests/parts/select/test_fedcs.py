"""FedCS: as many as fit before the deadline."""

import numpy as np
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.parts.select import SelectionContext
from heteroselect.parts.select.fedcs import FedCS


def select(rule, size, computing, sending, seed=0):
    # one step, and 32 bits to send
    clients, up = len(sending), 32 / np.array(sending, float)
    links = Conditions(up, up, np.array(computing, float), np.ones(clients, bool), passes=1.0, size=1)
    population = Population.new(np.full(clients, 10))
    context = SelectionContext(Moment(1, 9), np.arange(clients), population, size, default_rng(seed), links)
    return rule.select(np.zeros(clients), context)


def test_those_in_time_take_part_the_fastest_first():
    cohort = select(FedCS(deadline=3), 3, [1, 2, 10], [2, 0.5, 1])
    assert cohort.ids.tolist() == [1, 0]
    assert_allclose(cohort.inclusion, 1)


def test_with_a_factor_of_one_as_many_are_asked_as_there_are_places():
    asked = [select(FedCS(deadline=1e9, factor=1), 2, [0] * 6, [1] * 6, seed) for seed in range(40)]
    assert {len(cohort.ids) for cohort in asked} == {2}
    assert set(np.concatenate([cohort.ids for cohort in asked])) == set(range(6))
    assert_allclose(asked[0].inclusion, 2 / 6)


def test_more_candidates_give_more_choice_but_no_more_places():
    cohort = select(FedCS(deadline=1e9, factor=50), 2, [5, 0, 0, 0], [1, 3, 2, 4])
    assert cohort.ids.tolist() == [2, 1]
    cohort = select(FedCS(deadline=4.5), 3, [5, 0, 0, 0], [1, 3, 2, 4])
    assert cohort.ids.tolist() == [2, 1, 3]


def test_where_nobody_fits_the_fastest_is_taken():
    assert select(FedCS(deadline=0.5), 3, [1, 2, 10], [4, 1, 1]).ids.tolist() == [1]


def test_the_usual_deadline_binds():
    # times 1 to 11: four tenths of the way from the first to the last is 5, and all eleven are asked
    cohort = select(FedCS(), 10, [0] * 11, range(1, 12))
    assert cohort.ids.tolist() == [0, 1, 2, 3, 4]
    assert select(FedCS(quantile=1.0), 10, [0] * 11, range(1, 12)).ids.tolist() == list(range(10))
    # the paper's three minutes leave nobody out
    assert len(select(FedCS(deadline=180), 10, [0] * 11, range(1, 12)).ids) == 10
