"""The score (eq. 1): its four parts, weighted, added and stretched over all clients."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.compress.update import Update
from heteroselect.moment import Moment
from heteroselect.population import Population
from heteroselect.score import Informativeness

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
LATER = Moment(20, 100)


def sparse(*values: float) -> Update:
    vector = np.array(values, np.float32)
    return Update.keep(vector, np.flatnonzero(vector))


def three_clients() -> Population:
    """Client 0 was heard in round 2, client 1 in round 1, client 2 never."""
    return Population(
        sizes=np.full(3, 10),
        losses=np.array([0.0, 1.0, 2.0]),
        counts=np.array([2, 1, 0]),
        last_round=np.array([2, 1, 0]),
        uploads={0: sparse(3, 0), 1: sparse(0, 4)},
        consensus=np.array([1, 0], np.float32),
    )


@st.composite
def populations(draw: st.DrawFn) -> Population:
    clients = draw(st.integers(1, 6))
    each = {"min_size": clients, "max_size": clients}
    heard = draw(st.sets(st.integers(0, clients - 1)))
    coordinate = st.integers(-3, 3).map(float)
    return Population(
        sizes=np.full(clients, 10),
        losses=np.array(draw(st.lists(st.floats(0, 10), **each))),
        counts=np.array(draw(st.lists(st.integers(0, 5), **each))),
        last_round=np.array(draw(st.lists(st.integers(0, 19), **each))),
        uploads={client: sparse(draw(coordinate), draw(coordinate)) for client in heard},
        consensus=draw(st.sampled_from([None, np.array([1, 2], np.float32), np.zeros(2, np.float32)])),
    )


def relabelled(population: Population, order: list[int]) -> Population:
    return replace(
        population,
        losses=population.losses[order],
        counts=population.counts[order],
        last_round=population.last_round[order],
        uploads={new: population.uploads[old] for new, old in enumerate(order) if old in population.uploads},
    )


def test_eq_1_by_hand():
    scores = Informativeness().score(three_clients(), Moment(3, 100))
    assert_allclose(scores.parts["loss"], [0, 0.5, 1])
    assert_allclose(scores.parts["diversity"], [0, 1, 0.5])  # cosines 1 and 0, and never heard
    assert_allclose(scores.parts["fairness"], [-1, 0, 1])  # the mean count is 1
    assert_allclose(scores.parts["staleness"], [0, math.log(1.5) / math.log(2), 1])  # ln 2, ln 3, ln 4
    low = 0 + 0.3 * 0 + 0.2 * -1 + 0.2 * 0
    middle = 0.5 + 0.3 * 1 + 0.2 * 0 + 0.2 * math.log(1.5) / math.log(2)
    high = 1 + 0.3 * 0.5 + 0.2 * 1 + 0.2 * 1
    assert_allclose(scores.total, [0, (middle - low) / (high - low), 1])


@given(populations())
@RANDOM
def test_scores_reach_both_ends_or_are_constant(population):
    total = Informativeness().score(population, LATER).total
    assert (total == 0.5).all() or (total.min(), total.max()) == (0, 1)


@given(populations(), st.randoms(use_true_random=False))
@RANDOM
def test_scores_follow_a_relabelling(population, random):
    order = random.sample(range(len(population)), len(population))
    # the mean count is added up in another order, and a spread of rounding errors is no spread
    total = Informativeness().score(population, LATER).total
    assert_allclose(Informativeness().score(relabelled(population, order), LATER).total, total[order], atol=1e-6)


@given(populations())
@RANDOM
def test_only_the_ratios_of_the_weights_matter(population):
    tripled = Informativeness(3.0, 0.9, 0.6, 0.6).score(population, LATER).total
    assert_allclose(tripled, Informativeness().score(population, LATER).total, atol=1e-6)


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
    scores = Informativeness(**(none | settings)).score(three_clients(), Moment(3, 100))
    assert_allclose(scores.total, expected, atol=1e-12)


@pytest.mark.parametrize("start", [0.0, 1.0])
def test_in_the_first_round_the_score_is_the_stretched_loss(start):
    population = Population.new(np.full(3, 10))
    population.losses = np.array([2.0, 2.5, 2.1])
    total = Informativeness(fairness_start=start).score(population, Moment(1, 100)).total
    assert_allclose(total, [0, 1, 0.2], atol=1e-12)


@pytest.mark.parametrize("clients", [1, 4])
@pytest.mark.parametrize("constant", [0.5, 1.0])
def test_clients_that_nothing_tells_apart_get_the_constant(clients, constant):
    population = Population.new(np.full(clients, 10))
    population.losses = np.full(clients, 2.3)
    scores = Informativeness(constant=constant).score(population, Moment(1, 100))
    assert scores.total.tolist() == [constant] * clients
    assert scores.parts["loss"].tolist() == [constant] * clients
    assert scores.parts["staleness"].tolist() == [constant] * clients


def test_raw_staleness_shows_in_the_parts_but_not_in_the_scores():
    population = Population.new(np.full(2, 10))
    population.losses = np.array([1.0, 2.0])
    scores = Informativeness(raw_staleness=True).score(population, Moment(1, 100))
    assert_allclose(scores.parts["staleness"], [0.5 * math.log(2)] * 2)
    assert scores.total.tolist() == [0, 1]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_is_rejected(bad):
    population = three_clients()
    population.losses[1] = bad
    with pytest.raises(ValueError, match="not finite"):
        Informativeness().score(population, LATER)


def test_the_ledger_can_read_what_the_score_asks_for():
    assert Informativeness().needs == {"losses", "uploads"}


def test_whose_loss_is_asked_for():
    known, rng = Population.new(np.full(50, 10)), np.random.default_rng(0)
    assert Informativeness().asks(known, rng).tolist() == list(range(50))
    assert Informativeness(mode="stale").asks(known, rng).size == 0
    assert Informativeness(loss_weight=0.0).asks(known, rng).size == 0
    some = Informativeness(mode="candidates", candidates=20).asks(known, rng)
    assert len(set(some.tolist())) == 20
    assert Informativeness(mode="candidates", candidates=99).asks(known, rng).size == 50


def test_only_candidates_are_scored():
    known = Population.new(np.full(5, 10))
    known.losses = np.array([np.nan, 3.0, np.nan, 1.0, 2.0])
    scores = Informativeness(mode="candidates").score(known, Moment(1, 100))
    assert scores.ids.tolist() == [1, 3, 4]
    assert scores.total.tolist() == [1.0, 0.0, 0.5]


def test_what_is_known_of_some_keeps_their_uploads():
    known = Population.new(np.full(4, 10))
    known.received(2, sparse(3, 0))
    known.reported_by(2, {"loss": 1.5})
    known.selected(np.array([2]), 7)
    some = known.only(np.array([1, 2]))
    assert list(some.uploads) == [1]
    assert some.reported("loss").tolist()[1] == 1.5
    assert (some.counts.tolist(), some.last_round.tolist()) == ([0, 1], [0, 7])


def test_a_part_without_a_weight_is_not_told():
    scores = Informativeness(diversity_weight=0.0, staleness_weight=0.0).score(three_clients(), Moment(3, 100))
    assert set(scores.parts) == {"loss", "fairness"}
