"""The score (eq. 1): its four parts, weighted, added and stretched over all clients."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.core.cohort import Outcome, SelectionContext
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.update import Update
from heteroselect.parts.score import Informativeness, NoScore, Scores

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
LATER = Moment(20, 100)
DRAWS = 4000
ALONG_X = np.array([1, 0], np.float32)


def sparse(*values: float) -> Update:
    vector = np.array(values, np.float32)
    return Update.keep(vector, np.flatnonzero(vector))


def score(rule, population, moment, consensus=ALONG_X) -> Scores:
    state = {} if consensus is None else {"consensus": consensus}
    return rule.score(SelectionContext(moment, np.arange(len(population)), population, state=state))


def asks(rule, sizes, seed=0) -> np.ndarray:
    ids = np.arange(len(sizes))
    return rule.asks(SelectionContext(LATER, ids, Population.new(np.array(sizes)), rng=np.random.default_rng(seed)))


def outcome(*aggregate: float) -> Outcome:
    update = Update.whole(np.array(aggregate, np.float32)) if aggregate else None
    return Outcome(1, np.arange(2), 0.2, np.ones(2), update)


def three_clients() -> Population:
    """Client 0 took part in round 2, client 1 in round 1, client 2 never."""
    return Population(
        sizes=np.full(3, 10),
        losses=np.array([0.0, 1.0, 2.0]),
        counts=np.array([2, 1, 0]),
        last_round=np.array([2, 1, 0]),
        uploads={0: sparse(3, 0), 1: sparse(0, 4)},
    )


CONSENSUS = st.sampled_from([None, np.array([1, 2], np.float32), np.zeros(2, np.float32)])


@st.composite
def populations(draw: st.DrawFn) -> Population:
    clients = draw(st.integers(1, 6))
    each = {"min_size": clients, "max_size": clients}
    sent = draw(st.sets(st.integers(0, clients - 1)))
    coordinate = st.integers(-3, 3).map(float)
    return Population(
        sizes=np.full(clients, 10),
        losses=np.array(draw(st.lists(st.floats(0, 10), **each))),
        counts=np.array(draw(st.lists(st.integers(0, 5), **each))),
        last_round=np.array(draw(st.lists(st.integers(0, 19), **each))),
        uploads={client: sparse(draw(coordinate), draw(coordinate)) for client in sent},
    )


def test_eq_1_by_hand():
    scores = score(Informativeness(), three_clients(), Moment(3, 100))
    assert_allclose(scores.parts["loss"], [0, 0.5, 1])
    assert_allclose(scores.parts["diversity"], [0, 1, 0.5])  # cosines 1 and 0, and no upload
    assert_allclose(scores.parts["fairness"], [-1, 0, 1])  # the mean count is 1
    assert_allclose(scores.parts["staleness"], [0, math.log(1.5) / math.log(2), 1])  # ln 2, ln 3, ln 4
    low = 0 + 0.3 * 0 + 0.2 * -1 + 0.2 * 0
    middle = 0.5 + 0.3 * 1 + 0.2 * 0 + 0.2 * math.log(1.5) / math.log(2)
    high = 1 + 0.3 * 0.5 + 0.2 * 1 + 0.2 * 1
    assert_allclose(scores.total, [0, (middle - low) / (high - low), 1])


@given(populations(), CONSENSUS)
@RANDOM
def test_scores_reach_both_ends_or_are_constant(population, consensus):
    total = score(Informativeness(), population, LATER, consensus).total
    assert (total == 0.5).all() or (total.min(), total.max()) == (0, 1)


@given(populations(), CONSENSUS, st.randoms(use_true_random=False))
@RANDOM
def test_scores_follow_a_relabelling(population, consensus, random):
    order = random.sample(range(len(population)), len(population))
    # the mean count is added up in another order, and a spread of rounding errors is no spread
    total = score(Informativeness(), population, LATER, consensus).total
    relabelled = score(Informativeness(), population.only(np.array(order)), LATER, consensus).total
    assert_allclose(relabelled, total[order], atol=1e-6)


@given(populations(), CONSENSUS)
@RANDOM
def test_only_the_ratios_of_the_weights_matter(population, consensus):
    tripled = score(Informativeness(3.0, 0.9, 0.6, 0.6), population, LATER, consensus).total
    assert_allclose(tripled, score(Informativeness(), population, LATER, consensus).total, atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"loss_weight": 1.0}, [0, 0.5, 1]),
        ({"diversity_weight": 1.0}, [0, 1, 0.5]),
        ({"fairness_weight": 1.0}, [0, 0.5, 1]),
        ({"staleness_weight": 1.0}, [0, math.log(1.5) / math.log(2), 1]),
        ({}, [0.5, 0.5, 0.5]),
    ],
)
def test_a_weight_of_zero_takes_a_part_out(settings, expected):
    none = dict.fromkeys(["loss_weight", "diversity_weight", "fairness_weight", "staleness_weight"], 0.0)
    scores = score(Informativeness(**(none | settings)), three_clients(), Moment(3, 100))
    assert_allclose(scores.total, expected, atol=1e-12)


@pytest.mark.parametrize("clients", [1, 4])
@pytest.mark.parametrize("constant", [0.5, 1.0])
def test_clients_that_nothing_tells_apart_get_the_constant(clients, constant):
    population = replace(Population.new(np.full(clients, 10)), losses=np.full(clients, 2.3))
    scores = score(Informativeness(constant=constant), population, Moment(1, 100), None)
    assert scores.total.tolist() == [constant] * clients
    assert scores.parts["loss"].tolist() == [constant] * clients
    assert scores.parts["staleness"].tolist() == [constant] * clients


def test_raw_staleness_shows_in_the_parts_but_not_in_the_scores():
    population = replace(Population.new(np.full(2, 10)), losses=np.array([1.0, 2.0]))
    scores = score(Informativeness(raw_staleness=True), population, Moment(1, 100), None)
    assert_allclose(scores.parts["staleness"], [0.5 * math.log(2)] * 2)
    assert scores.total.tolist() == [0, 1]


def test_the_ledger_can_read_what_the_score_asks_for():
    assert Informativeness().traits.needs == {"losses", "uploads"}
    assert Informativeness(mode="stale", diversity_weight=0.0).traits.needs == {"reports"}
    assert Informativeness(loss_weight=0.0).traits.needs == {"uploads"}


def test_whose_loss_is_asked_for():
    assert asks(Informativeness(), [10] * 50).tolist() == list(range(50))
    assert asks(Informativeness(mode="stale"), [10] * 50).size == 0
    assert asks(Informativeness(loss_weight=0.0), [10] * 50).size == 0
    assert len(set(asks(Informativeness(mode="candidates", candidates=20), [10] * 50).tolist())) == 20
    assert asks(Informativeness(mode="candidates", candidates=99), [10] * 50).size == 50


def test_candidates_are_drawn_by_their_data():
    rule, seen = Informativeness(mode="candidates", candidates=1, candidates_by_size=True), np.zeros(3)
    for seed in range(DRAWS):
        seen[asks(rule, [10, 30, 60], seed)] += 1 / DRAWS
    p = np.array([0.1, 0.3, 0.6])
    assert (abs(seen - p) <= 4 * np.sqrt(p * (1 - p) / DRAWS)).all()


def test_only_candidates_are_scored_by_their_numbers():
    losses = np.array([np.nan, 3.0, np.nan, 1.0, 2.0])
    known = replace(Population.new(np.full(5, 10)), losses=losses)
    context = SelectionContext(Moment(1, 100), np.array([2, 4, 5, 7, 9]), known)
    scores = Informativeness(mode="candidates").score(context)
    assert scores.ids.tolist() == [4, 7, 9]
    assert scores.total.tolist() == [1.0, 0.0, 0.5]


def test_the_stale_loss_of_a_client_without_a_report_is_the_highest_of_the_others():
    known = Population.new(np.full(3, 10)).reported_by({0: {"loss": 1.0}, 2: {"loss": 3.0}})
    scores = score(Informativeness(mode="stale"), known, Moment(1, 100), None)
    assert scores.parts["loss"].tolist() == [0, 1, 1]


def test_the_consensus_by_hand():
    rule, state = Informativeness(), {}
    state = rule.learn(state, outcome(1, 0))
    assert state["consensus"].tolist() == [1, 0]  # the first is taken as it is
    state = rule.learn(state, outcome(0, 1))
    assert_allclose(state["consensus"], [0.9, 0.1], rtol=1e-6)
    state = rule.learn(state, outcome(1, 1))
    assert_allclose(state["consensus"], [0.9 * 0.9 + 0.1, 0.9 * 0.1 + 0.1], rtol=1e-6)
    assert state["consensus"].dtype == np.float32
    assert rule.learn(state, outcome()) is state  # nothing arrived


def test_the_consensus_does_not_follow_what_becomes_of_an_aggregate():
    result = outcome(1, 2)
    state = Informativeness().learn({}, result)
    result.aggregate.values[:] = 0
    assert state["consensus"].tolist() == [1, 2]


def test_no_score_is_a_half_for_everybody():
    scores = score(NoScore(), three_clients(), LATER)
    assert (scores.total.tolist(), scores.parts) == ([0.5] * 3, {})
    assert asks(NoScore(), [10] * 4).size == 0
    assert (NoScore.batches, NoScore.augmented) == (8, False)


def test_scores_refuse_nan_and_allow_infinity():
    assert Scores(np.arange(2), np.array([0.5, math.inf]), {}).total[1] == math.inf
    with pytest.raises(ValueError, match="not a number"):
        Scores(np.arange(2), np.array([0.5, math.nan]), {})
    with pytest.raises(ValueError, match="one for each"):
        Scores(np.arange(3), np.array([0.5, 1.0]), {})
