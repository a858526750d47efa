"""RBCS-F: fast cohorts with a guarantee."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.parts.select import RBCSF, SelectionContext
from heteroselect.parts.select.rbcs import expected, quick_and_due


@given(
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 9)), min_size=1, max_size=7), st.integers(1, 7), st.floats(0, 3)
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_no_other_cohort_is_better(clients, size, speed):
    queue, times = np.array(clients).T
    size = min(size, len(clients))

    def value(places):
        return speed * times[places].max() - queue[places].sum()

    found = quick_and_due(queue, times, size, speed)
    assert len(set(found.tolist())) == size
    best = min(value(list(some)) for some in combinations(range(len(clients)), size))
    assert value(found) == pytest.approx(best, abs=1e-9)


def situation(round, ids, state=None, seconds=None, last=None, size=1):
    clients = len(ids)
    links = Conditions(np.full(clients, 32.0), np.ones(clients), np.arange(1.0, clients + 1), np.ones(clients, bool))
    population = replace(Population.new(np.full(clients, 5)), last_round=np.array(last or [0] * clients))
    if seconds is not None:
        population = replace(population, reports={"seconds": np.array(seconds, float)})
    links = replace(links, passes=1.0, size=2)  # a whole update takes 2 s
    return SelectionContext(Moment(round, 99), np.array(ids), population, size, default_rng(0), links, state or {})


def test_queues_grow_by_the_guarantee_and_shrink_by_a_turn():
    rule = RBCSF(guarantee=0.5)
    first = rule.select(np.zeros(4), situation(1, [0, 1, 2, 3]))
    assert first.ids.tolist() == [0]  # nothing is known, all are equal
    assert_allclose(first.state["queue"], [0, 0.125, 0.125, 0.125])
    # client 3 is away and still waits; client 9 comes and has waited as if it had been there
    second = rule.select(np.zeros(4), situation(2, [0, 1, 2, 9], first.state))
    assert second.state["clients"].tolist() == [0, 1, 2, 3, 9]
    waits = np.array([0, 0.125, 0.125, 0.125, 0.1]) + 0.1
    taken = np.searchsorted(second.state["clients"], second.ids)
    waits[taken] = 0
    assert_allclose(second.state["queue"], waits)


def test_times_are_learnt_from_the_round_in_which_a_client_took_part():
    rule = RBCSF()
    first = rule.select(np.zeros(2), situation(1, [4, 7], size=2))
    assert_allclose(first.state["contexts"], [[1, 2], [0, 0], [2, 2]])  # step seconds, lately, seconds of an upload
    # ridge regression with one sample: cᵀ(I + ccᵀ)⁻¹cτ = τ·cᵀc/(1 + cᵀc), cᵀc being 1 + 4; doubt lowers it by
    # √(cᵀ(I + ccᵀ)⁻¹c) = √(5/6)
    told = situation(2, [4, 7], first.state, seconds=[6.0, np.nan], last=[1, 1], size=2)
    kept = rule.updated({name: np.array(a) for name, a in first.state.items()}, np.array([0, 1]), told)
    context = np.array([[1.0, 2.0], [0.0, 0.0], [2.0, 2.0]])
    assert_allclose(expected(kept["products"], kept["targets"], context), [6 * 5 / 6 - np.sqrt(5 / 6), 0])
    assert not kept["contexts"].any()


def test_everybody_gets_its_guarantee():
    rule, state, counts, last = RBCSF(speed=1.0, guarantee=0.8), {}, np.zeros(6), [0] * 6
    seconds = np.full(6, np.nan)
    for t in range(1, 301):
        cohort = rule.select(np.zeros(6), situation(t, range(6), state, seconds, last, size=2))
        state = cohort.state
        for k in cohort.ids:
            counts[k], last[k], seconds[k] = counts[k] + 1, t, 5.0 + k
    assert counts.sum() == 600
    assert counts.min() / 300 > 0.8 * 2 / 6 - 0.05
    assert counts[0] > counts[5]
