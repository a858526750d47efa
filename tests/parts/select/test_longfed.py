"""LongFed: cohorts that stand for everybody, and pairs that take turns."""

from dataclasses import replace

import numpy as np
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.update import Update
from heteroselect.parts.select import LongFed, SelectionContext
from heteroselect.parts.select.facility import greedy
from heteroselect.parts.select.longfed import representative


def told(rule, points, state=None, ids=None, size=1, seed=0, round=2):
    uploads = {k: Update.whole(np.array([p, 1], np.float32)) for k, p in enumerate(points) if p is not None}
    ids = np.arange(len(points)) if ids is None else ids
    population = replace(Population.new(np.full(len(ids), 9)), uploads=uploads)
    return rule.select(
        np.zeros(len(ids)),
        SelectionContext(Moment(round, 99), ids, population, size, default_rng(seed), state=state or {}),
    )


def test_two_who_are_alike_take_turns():
    state, counts = {}, np.zeros(2)
    for t in range(20):
        cohort = told(LongFed(representation=0.0), [3, 3], state, seed=t)
        state = cohort.state
        counts[cohort.ids] += 1
        assert abs(counts[0] - counts[1]) <= 1


def test_queues_by_hand():
    first = told(LongFed(slack=0.5), [0, 1, 4], size=1)
    assert first.ids.tolist() == [1]  # the medoid, as in DivFL
    # 1 was taken before 0 and 2, which are 1/4 and 3/4 of the longest distance from it
    assert_allclose(first.state["queues"], [[0, 0, 0], [0.875, 0, 0.625], [0, 0, 0]])
    second = told(LongFed(representation=0.0, slack=0.5), [0, 1, 4], first.state)
    assert second.ids.tolist() == [0]  # 0 waits for .875 and 2 for .625


def test_far_more_weight_on_representation_is_facility_location():
    rng = default_rng(4)
    points = rng.standard_normal((12, 3))
    table = np.linalg.norm(points[:, None] - points, axis=-1)
    due = rng.standard_normal(12)
    assert representative(table, 1e9, due, 5, np.arange(12)).tolist() == greedy(table, 5).tolist()
    assert representative(table, 0.0, due, 5, np.arange(12)).tolist() == np.argsort(-due)[:5].tolist()


def test_queues_stay_bounded_and_everybody_is_taken():
    state, counts, points = {}, np.zeros(8), [0, 0, 0, 1, 1, 5, 6, 9]
    for t in range(200):
        cohort = told(LongFed(), points, state, size=3, seed=t)
        state = cohort.state
        counts[cohort.ids] += 1
    assert state["queues"].max() < 20
    assert counts.min() > 0
    assert np.ptp(counts[:3]) <= 0.1 * counts[:3].mean()


def test_a_pair_of_whom_one_is_away_stays_as_it_is():
    first = told(LongFed(slack=0.0), [0, 0, 0], ids=np.array([1, 2, 5]))
    later = told(LongFed(slack=0.0), [0, 0], first.state, ids=np.array([2, 7]))
    assert later.state["clients"].tolist() == [1, 2, 5, 7]
    before, after = np.zeros((4, 4)), later.state["queues"]
    before[:3, :3] = first.state["queues"]
    away = np.ix_([0, 2], [0, 1, 2, 3])
    assert after[away].tolist() == before[away].tolist()
