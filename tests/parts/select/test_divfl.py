"""DivFL: representatives by their last uploads, and clients without one."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect import methods
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.update import Update
from heteroselect.parts.select import DivFL, SelectionContext


def select(selector, size, *uploads, seed=0):
    """Of clients on a line; None has sent nothing."""
    last = {k: Update.whole(np.array([place], np.float32)) for k, place in enumerate(uploads) if place is not None}
    population = replace(Population.new(np.full(len(uploads), 10)), uploads=last)
    context = SelectionContext(Moment(2, 10), np.arange(len(uploads)), population, size, default_rng(seed))
    return selector.select(np.zeros(len(uploads)), context)


def test_the_selector_takes_representatives_with_their_share():
    cohort = select(DivFL(), 2, 0, 1, 10)
    assert cohort.ids.tolist() == [1, 2]
    assert_allclose(cohort.share, [2 / 3, 1 / 3])


def test_a_client_without_an_upload_is_taken_first():
    cohort = select(DivFL(), 2, 0, None, 1, None, 10)
    assert sorted(cohort.ids.tolist()) == [1, 3]
    assert cohort.share.tolist() == [0.5, 0.5]
    cohort = select(DivFL(), 2, 0, None, 1, 10)
    assert cohort.ids[0] == 1


def test_before_there_is_any_upload_the_draw_is_uniform():
    draws = [tuple(sorted(select(DivFL(), 2, *[None] * 4, seed=seed).ids.tolist())) for seed in range(60)]
    assert set(draws) == set(itertools.combinations(range(4), 2))
    assert select(DivFL(), 2, *[None] * 4).share.tolist() == [0.5, 0.5]


def test_a_representative_of_many_counts_by_its_data_and_not_by_their_number():
    """As the authors' code does. Four clients close together and two far away, all with equal data: the one that stands
    for four of six would have two thirds of the vote."""
    cohort = select(methods.get("divfl").select, 3, 0, 0.1, 0.2, 0.3, 10, 20)
    assert sorted(cohort.share.tolist()) == pytest.approx([1 / 6, 1 / 6, 4 / 6])
    weights = methods.get("divfl").weigh.weights(np.zeros(3), cohort, Population.new(np.full(6, 10)))
    assert_allclose(weights, 1 / 3)
    sizes = np.array([10, 10, 10, 10, 20, 30])
    weights = methods.get("divfl").weigh.weights(np.zeros(3), cohort, Population.new(sizes))
    assert_allclose(weights, sizes[cohort.ids] / sizes[cohort.ids].sum())
