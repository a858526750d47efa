"""FedCG's selection: representatives, near ties to the faster."""

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.allocate import Means
from heteroselect.compress.update import Update
from heteroselect.moment import Moment
from heteroselect.population import Population
from heteroselect.select import Situation
from heteroselect.select.fedcg import FedCG


def select(size, *uploads, computing=None, rule=FedCG(), links=True):
    population = Population.new(np.full(len(uploads), 10))
    for client, place in enumerate(uploads):
        if place is not None:
            population.received(client, Update.whole(np.array([place], np.float32)))
    computing = np.ones(len(uploads)) if computing is None else np.array(computing, float)
    means = Means(np.full(len(uploads), 32.0), computing, 1, 10.0, 1) if links else None
    here = Situation(size, Moment(2, 10), default_rng(0), population, means)
    return rule.select(np.zeros(len(uploads)), here)


def test_three_points_by_hand():
    cohort = select(2, 0, 1, 10)
    assert cohort.ids.tolist() == [1, 2]
    assert_allclose(cohort.share, [2 / 3, 1 / 3])


def test_of_clients_alike_the_faster_is_taken():
    assert sorted(select(2, 0, 0, 10, 10, computing=[5, 1, 1, 5]).ids) == [1, 2]
    assert sorted(select(2, 0, 0, 10, 10, computing=[1, 5, 5, 1]).ids) == [0, 3]


def test_the_never_heard_may_go_first():
    assert sorted(select(2, 0, None, 10, None, rule=FedCG(unseen="first")).ids) == [1, 3]
    assert_allclose(select(2, None, None, None).share, 0.5)


def test_links_are_needed():
    with pytest.raises(ValueError, match="links"):
        select(1, 0, 1, links=False)
