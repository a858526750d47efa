"""How loudly each client speaks (eq. 13), and the rules beside it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.aggregate import ClientWeights
from heteroselect.errors import HeteroSelectError
from heteroselect.population import Population
from heteroselect.select import Cohort

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
RULES = ["score", "uniform", "inverse"]
COHORTS = st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 1)), min_size=1, max_size=10)
EVEN = np.ones(3)


def weigh(rule, scores, inclusion, clients=20):
    cohort = Cohort(np.arange(len(scores)), inclusion)
    return rule.of(scores, cohort, Population.new(np.full(clients, 10)))


def test_eq_13_by_hand():
    # over 0.8 + 0.4 + 0.4 = 1.6
    assert_allclose(weigh(ClientWeights(), np.array([0.8, 0.4, 0.4]), EVEN), [0.5, 0.25, 0.25])


def test_the_score_rule_does_not_look_at_the_inclusion():
    assert_allclose(weigh(ClientWeights(), np.array([0.8, 0.4, 0.4]), np.array([0.1, 0.9, 0.5])), [0.5, 0.25, 0.25])


def test_the_uniform_rule_looks_at_nothing():
    assert_allclose(weigh(ClientWeights("uniform"), np.array([0.0, 0.4, 1]), np.array([0.1, 0.9, 0.5])), 1 / 3)


def test_the_unbiased_rule_by_hand():
    # 1/q = 10, 5, 5 over 20: who is drawn often speaks softly
    assert_allclose(
        weigh(ClientWeights("inverse"), np.array([0, 0.5, 1]), np.array([0.1, 0.2, 0.2])), [0.5, 0.25, 0.25]
    )


def test_the_unbiased_rule_is_uniform_where_everybody_takes_part():
    assert_allclose(weigh(ClientWeights("inverse"), np.array([0, 0.5, 1]), EVEN), 1 / 3)


def test_a_floor_lets_a_score_of_zero_speak():
    # δ·max S = 0.1: 0.1, 0.6 and 1.1 over 1.8
    assert_allclose(weigh(ClientWeights(floor=0.1), np.array([0, 0.5, 1]), EVEN), [0.1 / 1.8, 0.6 / 1.8, 1.1 / 1.8])


def test_a_floor_knows_only_ratios():
    scores = np.array([0, 0.5, 1])
    assert_allclose(weigh(ClientWeights(floor=0.1), scores / 7, EVEN), weigh(ClientWeights(floor=0.1), scores, EVEN))


@pytest.mark.parametrize("floor", [0.0, 0.1])
@pytest.mark.parametrize("score", [0.0, 1e-10, 0.3, 1.0])
def test_equal_scores_speak_equally(floor, score):
    assert_allclose(weigh(ClientWeights(floor=floor), np.full(3, score), EVEN), 1 / 3)


def test_scores_that_are_next_to_nothing_speak_equally():
    assert_allclose(weigh(ClientWeights(), np.array([0, 0, 5e-9]), EVEN), 1 / 3)
    assert_allclose(weigh(ClientWeights(), np.array([0, 0, 5e-8]), EVEN), [0, 0, 1])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("score", [0.0, 0.3])
def test_a_cohort_of_one_speaks_alone(rule, score):
    assert weigh(ClientWeights(rule), np.array([score]), np.array([0.2])).tolist() == [1]


@pytest.mark.parametrize("rule", RULES)
@given(cohort=COHORTS, floor=st.sampled_from([0.0, 0.1]), random=st.randoms(use_true_random=False))
@RANDOM
def test_weights_add_up_to_one_and_follow_a_relabelling(rule, cohort, floor, random):
    scores, inclusion = np.array(cohort).T
    rule = ClientWeights(rule, floor)
    weights = weigh(rule, scores, inclusion)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1)
    order = random.sample(range(len(cohort)), len(cohort))
    assert_allclose(weigh(rule, scores[order], inclusion[order]), weights[order], atol=1e-12)


@given(COHORTS)
@RANDOM
def test_a_higher_score_is_never_softer(cohort):
    scores = np.sort(np.array(cohort)[:, 0])
    assert (np.diff(weigh(ClientWeights(), scores, np.ones(len(scores)))) >= 0).all()


def test_one_of_everybody_is_one_of_all_clients_and_not_of_those_present():
    assert weigh(ClientWeights("everybody"), np.array([0.2, 0.9]), np.ones(2), clients=8).tolist() == [1 / 8, 1 / 8]


@pytest.mark.parametrize("rule", [*RULES, "everybody", "data", "share"])
def test_nobody_has_no_weight(rule):
    assert weigh(ClientWeights(rule), np.empty(0), np.empty(0)).size == 0


def test_by_data_those_heard_speak_for_their_examples():
    # clients 3 and 0 hold 60 and 20 examples; the 120 of those not heard do not count
    population = Population.new(np.array([20, 100, 20, 60]))
    cohort = Cohort(np.array([3, 0]), np.full(2, 0.5))
    assert_allclose(ClientWeights("data").of(np.array([0.1, 0.9]), cohort, population), [0.75, 0.25])


def test_a_selection_that_says_how_much_each_speaks_for_is_taken_at_its_word():
    cohort = Cohort(np.array([3, 0]), np.ones(2), share=np.array([0.75, 0.5]))
    population = Population.new(np.full(4, 10))
    assert ClientWeights("share").of(np.zeros(2), cohort, population).tolist() == [0.75, 0.5]


def test_without_shares_there_is_nothing_to_go_by():
    with pytest.raises(HeteroSelectError, match="speaks for"):
        weigh(ClientWeights("share"), np.ones(2), np.ones(2))
