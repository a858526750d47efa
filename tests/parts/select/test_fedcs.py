"""FedCS: as many as fit before the deadline."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.parts.select import SelectionContext
from heteroselect.parts.select.fedcs import FedCS, at_once, one_by_one

RANDOM = settings(max_examples=80, deadline=None, derandomize=True)
CLIENTS = st.lists(st.tuples(st.floats(0, 10), st.floats(0.1, 10)), min_size=1, max_size=8)


def select(rule, size, computing, sending, seed=0):
    # one step, and 32 bits to send
    clients, up = len(sending), 32 / np.array(sending, float)
    links = Conditions(up, up, np.array(computing, float), np.ones(clients, bool), passes=1.0, size=1)
    population = Population.new(np.full(clients, 10))
    context = SelectionContext(Moment(1, 9), np.arange(clients), population, size, default_rng(seed), links)
    return rule.select(np.zeros(clients), context)


def paper(**settings):
    """One link for all, and as many candidates as places."""
    return FedCS(**{"uploads": "sequential", "factor": 1} | settings)


def elapsed(order, computing, sending):
    """When the last upload is in, if they send in this order."""
    time = 0.0
    for k in order:
        time = max(time, computing[k]) + sending[k]
    return time


def test_three_clients_by_hand():
    # client 0 has sent after 1 + 2 s, client 1 one second later; client 2 would take until 11 s
    ids, time = one_by_one(np.array([1.0, 2.0, 10.0]), np.array([2.0, 1.0, 1.0]), 6.0)
    assert ids.tolist() == [0, 1]
    assert time == 4


def test_a_client_computes_while_others_send():
    # client 0 has sent after 3 s, by when client 2 has computed and adds only its 4 s; client 1 is not ready before 9 s
    ids, time = one_by_one(np.array([0.0, 9.0, 1.0]), np.array([3.0, 0.5, 4.0]), 7.5)
    assert ids.tolist() == [0, 2]
    assert time == 7


@given(CLIENTS, st.floats(0.5, 40))
@RANDOM
def test_one_after_the_other_they_meet_the_deadline(clients, deadline):
    computing, sending = np.array(clients).T
    ids, time = one_by_one(computing, sending, deadline)
    assert len(set(ids.tolist())) == len(ids)
    assert time == pytest.approx(elapsed(ids, computing, sending))
    assert time < deadline or len(ids) == 0
    # nobody left out would have fitted at the end
    for k in set(range(len(clients))) - set(ids.tolist()):
        assert elapsed([*ids, k], computing, sending) >= deadline - 1e-9


@given(CLIENTS, st.floats(0.5, 25))
@RANDOM
def test_at_once_everybody_in_time_fits(clients, deadline):
    computing, sending = np.array(clients).T
    ids = at_once(computing, sending, deadline)
    assert set(ids.tolist()) == {k for k, (a, b) in enumerate(clients) if a + b <= deadline}
    assert (np.diff((computing + sending)[ids]) >= 0).all()


def test_the_selector_asks_as_many_as_there_are_places():
    cohort = select(paper(deadline=6), 3, [1, 2, 10], [2, 1, 1])
    assert cohort.ids.tolist() == [0, 1]
    assert_allclose(cohort.inclusion, 1)
    asked = [select(paper(deadline=1e9), 2, [0] * 6, [1] * 6, seed) for seed in range(40)]
    assert {len(cohort.ids) for cohort in asked} == {2}
    assert set(np.concatenate([cohort.ids for cohort in asked])) == set(range(6))
    assert_allclose(asked[0].inclusion, 2 / 6)


def test_more_candidates_give_more_choice_but_no_more_places():
    cohort = select(paper(deadline=1e9, factor=50), 2, [5, 0, 0, 0], [1, 3, 2, 4])
    assert cohort.ids.tolist() == [2, 1]
    cohort = select(paper(deadline=4.5, factor=2, uploads="parallel"), 3, [5, 0, 0, 0], [1, 3, 2, 4])
    assert cohort.ids.tolist() == [2, 1, 3]


@pytest.mark.parametrize("uploads", ["sequential", "parallel"])
def test_where_nobody_fits_the_fastest_is_taken(uploads):
    assert select(paper(deadline=0.5, uploads=uploads), 3, [1, 2, 10], [4, 1, 1]).ids.tolist() == [1]


def test_the_usual_deadline_binds():
    # times 1 to 11: four tenths of the way from the first to the last is 5, and all eleven are asked
    cohort = select(FedCS(), 10, [0] * 11, range(1, 12))
    assert cohort.ids.tolist() == [0, 1, 2, 3, 4]
    assert select(FedCS(quantile=1.0), 10, [0] * 11, range(1, 12)).ids.tolist() == list(range(10))
    # the paper's three minutes leave nobody out
    assert len(select(FedCS(deadline=180), 10, [0] * 11, range(1, 12)).ids) == 10


def test_in_sequence_the_usual_deadline_is_for_as_many_uploads():
    # with three places 3·(1, 2, 3, 4, 5): the quantile of a half is 9, and 1 + 2 + 3 < 9 ≤ 1 + 2 + 3 + 4
    cohort = select(paper(factor=2, quantile=0.5), 3, [0] * 5, [1, 2, 3, 4, 5])
    assert cohort.ids.tolist() == [0, 1, 2]
    assert select(paper(factor=2, quantile=0.25), 3, [0] * 5, [1, 2, 3, 4, 5]).ids.tolist() == [0, 1]
