"""FairFedCS: reputation and patience."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.update import Update
from heteroselect.parts.select import FairFedCS, SelectionContext
from heteroselect.parts.select.fairfedcs import agreeing


def told(rule, round, state=None, uploads=None, last=None, clients=4, size=2, seed=0):
    vectors = {k: Update.whole(np.array(v, np.float32)) for k, v in (uploads or {}).items()}
    population = replace(
        Population.new(np.full(clients, 9)), uploads=vectors, last_round=np.array(last or [0] * clients)
    )
    context = SelectionContext(
        Moment(round, 99), np.arange(clients), population, size, default_rng(seed), state=state or {}
    )
    return rule.select(np.zeros(clients), context)


@pytest.mark.parametrize(("clients", "size"), [(6, 2), (9, 3), (5, 5), (4, 1)])
def test_without_reputation_counts_differ_by_one_at_most(clients, size):
    rule, state, counts = FairFedCS(reputation=0.0), {}, np.zeros(clients)
    for t in range(1, 5 * clients // size + 1):
        cohort = told(rule, t, state, clients=clients, size=size, seed=t)
        state = cohort.state
        counts[cohort.ids] += 1
        if t % (clients // size) == 0:
            assert counts.max() - counts.min() <= 1


def test_who_points_the_same_way_as_the_others_is_good():
    population = replace(Population.new(np.full(4, 9)), uploads={
        0: Update.whole(np.array([2, 0], np.float32)),
        1: Update.whole(np.array([1, 1], np.float32)),
        2: Update.whole(np.array([-1, 0.5], np.float32)),
    })  # fmt: skip
    # ⟨u₀, u₁ + u₂⟩ = 2·0 = 0, ⟨u₁, u₀ + u₂⟩ = 2 − ½, ⟨u₂, u₀ + u₁⟩ = −2 − ½; nothing arrived of 3
    assert agreeing(population, np.arange(4)).tolist() == [True, True, False, False]
    assert agreeing(population, np.array([2])).tolist() == [True]  # alone there is nothing to say against it


def test_reputation_counts_what_came_of_each_round_once():
    rule = FairFedCS(reputation=10.0)
    uploads, last = {0: [1, 0], 1: [1, 0.1], 2: [-1, 0]}, [1, 1, 1, 0]
    cohort = told(rule, 2, {}, uploads, last)
    assert cohort.state["good"].tolist() == [1, 1, 0, 0]
    assert cohort.state["bad"].tolist() == [0, 0, 1, 0]
    # 10·2/3, 10·2/3, 10/3 and 10/2, and all have waited half a turn in one round
    assert sorted(cohort.ids.tolist()) == [0, 1]
    assert_allclose(cohort.state["queue"], [0, 0, 1, 1])
    again = told(rule, 3, cohort.state, uploads, last)
    assert again.state["good"].tolist() == [1, 1, 0, 0]
