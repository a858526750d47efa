"""Softmax selection (eq. 6): its temperature, the law of its draws, and the weights that undo it."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.moment import Moment
from heteroselect.population import Population
from heteroselect.select import Situation, Softmax, gumbel_top

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=12).map(np.array)
LAST = Moment(100, 100)  # where τ is 0.5
DRAWS = 10_000


def draw(selector, scores, size, moment, rng):
    return selector.select(scores, Situation(size, moment, rng, Population.new(np.full(len(scores), 10))))


def noise(values):
    """A generator whose Gumbel noise is known."""
    return SimpleNamespace(gumbel=lambda size: np.asarray(values, float)[:size])


def frequencies(one) -> dict[tuple[int, ...], float]:
    rng, found = default_rng(7), {}
    for _ in range(DRAWS):
        ids = tuple(one(rng).ids.tolist())
        found[ids] = found.get(ids, 0) + 1 / DRAWS
    return found


def within_four_standard_errors(found: float, probability: float) -> bool:
    return abs(found - probability) <= 4 * math.sqrt(probability * (1 - probability) / DRAWS)


@pytest.mark.parametrize(("round", "tau"), [(1, 0.995), (50, 0.75), (100, 0.5), (130, 0.5)])
def test_the_temperature_falls_to_its_half_and_no_further(round, tau):
    assert Softmax().tau(Moment(round, 100)) == pytest.approx(tau)
    assert Softmax(temperature=3).tau(Moment(round, 100)) == pytest.approx(3 * tau)


def test_a_run_of_one_round_has_the_last_temperature():
    assert Softmax().tau(Moment(1, 1)) == 0.5


def test_eq_6_by_hand():
    # τ = 0.5 and scores 0 and ½ ln 3: exp(0) against exp(ln 3), so one to three
    scores = np.array([0, math.log(3) / 2])
    found = frequencies(lambda rng: draw(Softmax(), scores, 1, LAST, rng))
    assert within_four_standard_errors(found[0,], 1 / 4)


def test_draws_have_the_law_of_successive_sampling():
    p = np.array([0.1, 0.2, 0.3, 0.4])
    found = frequencies(lambda rng: gumbel_top(np.log(p) + 5, 2, rng))
    for first, second in itertools.permutations(range(4), 2):
        # after the first, what is left is drawn in proportion
        assert within_four_standard_errors(found.pop((first, second)), p[first] * p[second] / (1 - p[first]))
    assert not found


def test_equal_scores_are_drawn_uniformly():
    found = frequencies(lambda rng: draw(Softmax(), np.full(4, 0.3), 2, LAST, rng))
    assert len(found) == 12
    assert all(within_four_standard_errors(share, 1 / 12) for share in found.values())


def test_sums_over_the_cohort_divided_by_its_weights_are_unbiased():
    rng, logits = default_rng(3), 2 * default_rng(1).random(12)
    a, x = default_rng(2).dirichlet(np.ones(12)), np.exp(logits)
    sums = np.empty(DRAWS)
    plain = np.empty(DRAWS)
    for i in range(DRAWS):
        cohort = gumbel_top(logits, 4, rng)
        sums[i] = (a * x)[cohort.ids] @ (1 / cohort.inclusion)
        plain[i] = (a * x)[cohort.ids].sum() * 12 / 4
    error = sums.std() / math.sqrt(DRAWS)
    assert abs(sums.mean() - a @ x) <= 4 * error
    # the test can tell: taking the cohort for a uniform one is many errors off
    assert abs(plain.mean() - a @ x) > 20 * error


def test_inclusion_weights_by_hand():
    # φ = ln ¼ for all, so the perturbed values are the noise − ln 4 and the first left out is 0.5 − ln 4
    cohort = gumbel_top(np.zeros(4), 2, noise([2.0, 0.5, 1.0, 0.0]))
    assert cohort.ids.tolist() == [0, 2]
    assert_allclose(cohort.inclusion, 1 - math.exp(-math.exp(-0.5)))


def test_inclusion_weights_rise_with_the_score():
    cohort = gumbel_top(np.array([0.0, 1.0, 2.0, 0.0]), 3, noise([3.0, 2.0, 1.0, 0.5]))
    by_client = dict(zip(cohort.ids.tolist(), cohort.inclusion, strict=True))
    assert by_client[0] < by_client[1] < by_client[2]


@given(SCORES, st.data())
@RANDOM
def test_a_cohort_is_made_of_distinct_clients(scores, data):
    size = data.draw(st.integers(1, len(scores)))
    moment = Moment(data.draw(st.integers(1, 10)), 10)
    cohort = draw(Softmax(), scores, size, moment, default_rng(data.draw(st.integers(0, 999))))
    assert len(set(cohort.ids.tolist())) == size
    assert set(cohort.ids.tolist()) <= set(range(len(scores)))
    assert ((cohort.inclusion > 0) & (cohort.inclusion <= 1)).all()
    assert cohort.tau == Softmax().tau(moment)


@given(SCORES, st.data())
@RANDOM
def test_selection_follows_a_relabelling(scores, data):
    size = data.draw(st.integers(1, len(scores)))
    order = np.array(data.draw(st.permutations(range(len(scores)))))
    gumbel = default_rng(len(scores)).gumbel(size=len(scores))
    cohort = draw(Softmax(), scores, size, LAST, noise(gumbel))
    relabelled = draw(Softmax(), scores[order], size, LAST, noise(gumbel[order]))
    assert order[relabelled.ids].tolist() == cohort.ids.tolist()
    assert_allclose(relabelled.inclusion, cohort.inclusion)


@pytest.mark.parametrize("clients", [1, 5])
def test_where_nobody_is_left_out_the_weights_are_one(clients):
    cohort = draw(Softmax(), np.linspace(0, 1, clients), clients, LAST, default_rng(0))
    assert sorted(cohort.ids.tolist()) == list(range(clients))
    assert cohort.inclusion.tolist() == [1.0] * clients


def test_a_seed_gives_one_cohort_and_another_seed_another():
    scores = default_rng(0).random(100)
    first, again, other = (draw(Softmax(), scores, 10, LAST, default_rng(seed)) for seed in (4, 4, 5))
    assert first.ids.tolist() == again.ids.tolist()
    assert first.inclusion.tolist() == again.inclusion.tolist()
    assert first.ids.tolist() != other.ids.tolist()


def test_near_the_temperature_of_zero_the_best_are_taken_in_their_order():
    cohort = draw(Softmax(temperature=0.01), np.array([0.4, 0.0, 1.0, 0.7]), 2, LAST, default_rng(0))
    assert cohort.ids.tolist() == [2, 3]
    assert_allclose(cohort.inclusion, 1)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_rejected(bad):
    with pytest.raises(ValueError, match="not finite"):
        draw(Softmax(), np.array([0.1, bad, 0.3]), 1, LAST, default_rng(0))
