"""Oort: what a client is worth, whom else to try, and how patient to be."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.parts.select import SelectionContext, oort
from heteroselect.parts.select.oort import Oort, normalised, statistical

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
DRAWS = 3000


@pytest.fixture
def greedy(monkeypatch):
    """Nobody new, no bonus and no clip."""
    for name, value in {"EXPLORE": 0, "EXPLORE_LEAST": 0, "BONUS": 0, "CLIP": 100}.items():
        monkeypatch.setattr(oort, name, value)


def people(rms, seconds=None, sizes=None, round=1):
    """Clients with the losses and durations of their last training; None has sent no report."""
    population = Population.new(np.array(sizes or [10] * len(rms)))
    reports = {
        client: {"rms": loss, "seconds": seconds[client] if seconds else 1.0}
        for client, loss in enumerate(rms)
        if loss is not None
    }
    return population.reported_by(reports).selected(np.array(list(reports), np.int64), round)


def links(*sending):
    """Nothing to compute, and so many seconds to send."""
    up = 32 / np.array(sending, float)
    return Conditions(up, up, np.zeros(len(up)), np.ones(len(up), bool), passes=1.0, size=1)


def select(rule, population, size, round=2, seed=0, conditions=None, state=None):
    clients = len(population)
    conditions = conditions or links(*[1.0] * clients)
    context = SelectionContext(
        Moment(round, 100), np.arange(clients), population, size, default_rng(seed), conditions, state or {}
    )
    return rule.select(np.zeros(len(population)), context)


def worth(rule, population, duration, round=2):
    state = {"duration": np.array(duration)}
    return rule.worth(statistical(population), population, Moment(round, 100), state)


@pytest.mark.usefixtures("greedy")
def test_the_slow_are_penalised_beyond_the_preferred_duration():
    # utilities are equal: (100 − 99.9)/0.1 = 1, and (10/20)² = 0.25
    population = people([2.0, 2.0], seconds=[20.0, 5.0], sizes=[50, 50])
    assert_allclose(worth(Oort(), population, 10.0), [0.25, 1])
    assert_allclose(worth(Oort(penalty=0), population, 10.0), [1, 1])


def test_utilities_are_brought_to_one_scale_before_anything_is_added():
    # (U − 0.999·100)/(300 − 99.9) of 100, 200 and 300: 0.1, 100.1 and 200.1 out of 200.1
    assert_allclose(normalised(np.array([100.0, 200.0, 300.0]), 100), np.array([0.1, 100.1, 200.1]) / 200.1)
    # in another unit, the same
    assert_allclose(normalised(np.array([1.0, 2.0, 3.0]), 100), np.array([0.1, 100.1, 200.1]) / 200.1)
    # cut at the median, the range is still that of all
    assert_allclose(normalised(np.array([100.0, 200.0, 300.0]), 50), np.array([0.1, 100.1, 100.1]) / 200.1)


def test_a_client_of_long_ago_comes_before_one_of_higher_utility(monkeypatch):
    """The bonus of a client last seen in round 1, √(0.1·ln 50) = 0.625, outweighs half of the range of utilities;
    added to raw utilities of 100 to 300 it would not be noticed."""
    population = people([10.0, 20.0, 30.0])
    population.last_round[:] = [49, 1, 49]
    monkeypatch.setattr(oort, "CLIP", 100)
    found = worth(Oort(), population, 10.0, round=50)
    assert_allclose(found, np.array([0.1, 100.1, 200.1]) / 200.1 + np.sqrt(0.1 * math.log(50) / np.array([49, 1, 49])))
    assert found.argmax() == 1


def test_an_outlier_is_cut_and_nothing_counts_as_the_least(monkeypatch):
    monkeypatch.setattr(oort, "BONUS", 0)
    population = people([1.0] * 19 + [1000.0] + [0.0])
    found = worth(Oort(), population, 10.0)
    # 21 utilities: the 95th percentile is the twentieth, 10, where the outlier is cut; 0 counts as the least, 10
    assert_allclose(found, (10 - 9.99) / (10000 - 9.99))


@pytest.mark.parametrize(("round", "epsilon"), [(1, 0.9), (2, 0.882), (11, 0.9 * 0.98**10), (200, 0.2)])
def test_exploration_decays_to_its_floor(round, epsilon):
    assert Oort().epsilon(Moment(round, 300)) == pytest.approx(epsilon)


def test_before_anybody_is_tried_everybody_is_new():
    cohort = select(Oort(), people([None] * 5), 3, round=1)
    assert len(set(cohort.ids.tolist())) == 3
    assert dict(cohort.state) == {}


@pytest.mark.parametrize(("epsilon", "fresh"), [(0.0, 0), (0.25, 1), (0.4, 2), (0.5, 2), (1.0, 4)])
def test_newcomers_have_their_part(epsilon, fresh, monkeypatch):
    monkeypatch.setattr(Oort, "epsilon", lambda self, moment: epsilon)
    population = people([1.0] * 8 + [None] * 8)
    assert (select(Oort(), population, 4).ids >= 8).sum() == fresh
    # newcomers make up for the tried, and the tried for newcomers
    assert sorted(select(Oort(), people([1.0, None, None]), 3).ids) == [0, 1, 2]
    assert sorted(select(Oort(), people([1.0, 1.0, None]), 3).ids) == [0, 1, 2]


def test_fast_newcomers_are_favoured():
    seen = np.zeros(2)
    for seed in range(DRAWS):
        seen[select(Oort(), people([None, None]), 1, round=1, seed=seed, conditions=links(1, 4)).ids] += 1 / DRAWS
    assert abs(seen[0] - 0.8) <= 4 * math.sqrt(0.16 / DRAWS)


@pytest.mark.slow
@pytest.mark.usefixtures("greedy")
def test_only_those_near_the_best_have_a_chance_and_by_their_worth():
    # (U − 9.99)/90.01 of 100, 96, 92, 91 and 10: 95 % of the second best are 0.9078, 92 has 0.9111 and 91 has 0.9000
    population, seen = people([10.0, 9.6, 9.2, 9.1, 1.0]), np.zeros(5)
    for seed in range(DRAWS):
        seen[select(Oort(), population, 2, seed=seed).ids] += 1 / DRAWS
    assert (seen[3:] == 0).all()
    p = np.array([90.01, 86.01, 82.01]) / 258.03
    both = np.array([p[k] + sum(p[j] * p[k] / (1 - p[j]) for j in range(3) if j != k) for k in range(3)])
    assert (abs(seen[:3] - both) <= 4 * np.sqrt(both * (1 - both) / DRAWS)).all()


@pytest.mark.usefixtures("greedy")
def test_the_tired_rest_while_there_are_others():
    population, rule = people([10.0, 9.9, 1.0, 0.9]), Oort(tired=10)
    population.counts[:2] = 11
    assert sorted(select(rule, population, 2).ids) == [2, 3]
    assert sorted(select(rule, population, 3).ids) == [0, 2, 3]  # the better of the tired
    assert sorted(select(Oort(), population, 2).ids) == [0, 1]  # nobody is tired unless told
    population.counts[:2] = 10
    assert sorted(select(rule, population, 2).ids) == [0, 1]


def test_patience_starts_at_a_fast_clients_duration():
    population = people([1.0] * 11, seconds=list(range(10, 21)))
    assert select(Oort(), population, 2).state["duration"] == 11


@pytest.mark.parametrize(
    ("utilities", "duration"),
    [
        ([5, 5, 5, 4], 6.0),  # 9 beside 10: flat, within a tenth
        ([5, 5, 6, 5], 6.0),  # 11 beside 10
        ([5, 5, 4, 4], 3.0),  # 8 beside 10: still falling, as losses do
        ([1, 1, 5, 6], 3.0),  # 11 beside 2: 4.5 times the first, not yet sharp
        ([1, 1, 6, 6], 3.0),  # 12 beside 2: sharp, but T is never below Δ
    ],
)
def test_the_pacer_grows_patient_when_the_cohorts_are_worth_the_same(utilities, duration, monkeypatch):
    monkeypatch.setattr(oort, "WINDOW", 2)
    rule, state, population = Oort(), {}, people([1.0, 1.0], [3.0, 3.0], sizes=[1, 1], round=0)
    for t, utility in enumerate(utilities, 1):
        assert "duration" not in state or state["duration"] == 3
        population = population.selected(np.array([0]), t)
        population.reports["rms"][0] = utility  # client 0 took part in round t, client 1 did not
        state = select(rule, population, 1, round=t + 1, state=state).state
    assert state["duration"] == duration
    assert state["utility"].tolist() == utilities


def test_the_pacer_looks_once_a_window(monkeypatch):
    monkeypatch.setattr(oort, "WINDOW", 2)
    rule, state, population = Oort(), {}, people([1.0, 1.0], [3.0, 3.0], sizes=[1, 1], round=0)
    found = []
    for t in range(1, 9):
        population = population.selected(np.array([0]), t)
        population.reports["rms"][0] = (1, 1, 1, 1, 1, 1, 6, 6)[t - 1]
        state = select(rule, population, 1, round=t + 1, state=state).state
        found.append(float(state["duration"]))
    assert found == [3, 3, 3, 6, 6, 9, 9, 6]  # twice flat, and then twelve beside two
    assert len(state["utility"]) == 4


@given(st.lists(st.one_of(st.none(), st.floats(0, 100)), min_size=1, max_size=10), st.data())
@RANDOM
def test_a_cohort_is_made_of_distinct_clients_whatever_is_known(rms, data):
    size, round = data.draw(st.integers(1, len(rms))), data.draw(st.integers(2, 60))
    seconds = data.draw(st.lists(st.floats(0.1, 100), min_size=len(rms), max_size=len(rms)))
    population = people(rms, seconds)
    population.counts[:] += np.array(data.draw(st.lists(st.integers(0, 20), min_size=len(rms), max_size=len(rms))))
    cohort, again = (select(Oort(), population, size, round, seed=1) for _ in range(2))
    assert len(set(cohort.ids.tolist())) == size
    assert cohort.ids.tolist() == again.ids.tolist()


@pytest.mark.slow
def test_who_never_answered_is_asked_again_but_less_and_less():
    population, seen = people([None, None]), np.zeros(2)
    population.counts[0] = 9
    for seed in range(DRAWS):
        seen[select(Oort(), population, 1, seed=seed).ids] += 1 / DRAWS
    assert abs(seen[0] - 1 / 11) <= 4 * math.sqrt(10 / 121 / DRAWS)


def test_over_commitment_asks_more_and_waits_for_the_places():
    population = people([1.0] * 20)
    assert select(Oort(), population, 10).enough == 0
    cohort = select(Oort(overcommit=1.3), population, 10)
    assert (len(cohort.ids), cohort.enough) == (13, 10)
    assert (len(select(Oort(overcommit=1.3), people([1.0] * 11), 10).ids)) == 11
    assert select(Oort(overcommit=1.3), people([1.0] * 10), 10).enough == 0
