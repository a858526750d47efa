"""How much each client's update counts (eq. 13), and the kinds beside it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heteroselect.core.cohort import Cohort
from heteroselect.core.part import FieldError
from heteroselect.core.population import Population
from heteroselect.parts.aggregate import ByData, ByScore, ByShare, Equal, Inverse, OneOfAll

EVEN = np.ones(3)


def weigh(part, scores, inclusion, clients=20):
    cohort = Cohort(np.arange(len(scores)), inclusion)
    return part.weights(np.array(scores, float), cohort, Population.new(np.full(clients, 10)))


def test_eq_13_by_hand():
    # over 0.8 + 0.4 + 0.4 = 1.6
    assert_allclose(weigh(ByScore(), [0.8, 0.4, 0.4], EVEN), [0.5, 0.25, 0.25])
    assert_allclose(weigh(ByScore(), [0.8, 0.4, 0.4], np.array([0.1, 0.9, 0.5])), [0.5, 0.25, 0.25])


def test_equal_weights_look_at_nothing():
    assert_allclose(weigh(Equal(), [0.0, 0.4, 1], np.array([0.1, 0.9, 0.5])), 1 / 3)


def test_the_inverse_of_the_inclusion_by_hand():
    # 1/q = 10, 5, 5 over 20: who is drawn often counts little
    assert_allclose(weigh(Inverse(), [0, 0.5, 1], np.array([0.1, 0.2, 0.2])), [0.5, 0.25, 0.25])


def test_a_floor_lets_a_score_of_zero_count():
    # δ·max S = 0.1: 0.1, 0.6 and 1.1 over 1.8
    assert_allclose(weigh(ByScore(0.1), [0, 0.5, 1], EVEN), [0.1 / 1.8, 0.6 / 1.8, 1.1 / 1.8])


@pytest.mark.parametrize("floor", [0.0, 0.1])
@pytest.mark.parametrize("score", [0.0, 1e-10, 0.3, 1.0])
def test_equal_scores_count_the_same(floor, score):
    assert_allclose(weigh(ByScore(floor), np.full(3, score), EVEN), 1 / 3)


def test_scores_that_are_next_to_nothing_count_the_same():
    assert_allclose(weigh(ByScore(), [0, 0, 5e-9], EVEN), 1 / 3)
    assert_allclose(weigh(ByScore(), [0, 0, 5e-8], EVEN), [0, 0, 1])


@pytest.mark.parametrize("scores", [[0.5, -0.1], [0.5, np.nan], [0.5, np.inf]])
def test_scores_that_cannot_be_weights_are_refused(scores):
    with pytest.raises(ValueError, match="finite and not negative"):
        weigh(ByScore(), scores, np.ones(2))


def test_one_of_all_is_not_one_of_those_present():
    assert weigh(OneOfAll(), [0.2, 0.9], np.ones(2), clients=8).tolist() == [1 / 8, 1 / 8]


def test_by_data_those_whose_updates_arrived_count_by_their_examples():
    # clients 3 and 0 hold 60 and 20 examples; the 120 of the others do not count
    population = Population.new(np.array([20, 100, 20, 60]))
    cohort = Cohort(np.array([3, 0]), np.full(2, 0.5))
    assert_allclose(ByData().weights(np.array([0.1, 0.9]), cohort, population), [0.75, 0.25])


def test_a_share_of_the_selection_is_taken_as_it_is():
    cohort = Cohort(np.array([3, 0]), np.ones(2), share=np.array([0.75, 0.5]))
    assert ByShare().weights(np.zeros(2), cohort, Population.new(np.full(4, 10))).tolist() == [0.75, 0.5]


def test_without_shares_there_is_nothing_to_go_by():
    with pytest.raises(FieldError, match="stands for"):
        weigh(ByShare(), np.ones(2), np.ones(2))
