"""What every weigher promises."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from contracts.found import bits, each
from heteroselect.core.cohort import Cohort
from heteroselect.core.population import Population
from heteroselect.core.traits import traits_of
from heteroselect.parts.aggregate import ByScore, ByShare, FedNova, OneOfAll

RANDOM = settings(max_examples=40, deadline=None, derandomize=True)


EACH = each("weigh", ByScore(0.1))
NOT_ONE = OneOfAll, ByShare, FedNova
"""Those whose weights say what each stands for, and need not add up to one."""
CLIENTS = st.lists(
    st.tuples(st.floats(0, 1), st.floats(0.01, 1), st.floats(0.01, 1), st.integers(1, 60)), min_size=1, max_size=10
)


def asked(clients, seed=0):
    """Scores, a cohort of client numbers in any order, and a population of twice as many."""
    scores, inclusion, share, steps = (np.array(column) for column in zip(*clients, strict=True))
    rng = np.random.default_rng(seed)
    population = replace(
        Population.new(rng.integers(1, 500, 2 * len(clients))), counts=rng.integers(0, 9, 2 * len(clients))
    )
    ids = rng.permutation(2 * len(clients))[: len(clients)]
    return scores, Cohort(ids, inclusion, share=share, steps=steps, variances=1 / inclusion - 0.9), population


@EACH
@given(clients=CLIENTS, seed=st.integers(0, 99))
@RANDOM
def test_weights_are_finite_not_negative_and_follow_a_relabelling(part, clients, seed):
    scores, cohort, population = asked(clients, seed)
    weights = part.weights(scores, cohort, population)
    assert weights.shape == scores.shape
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    order = np.random.default_rng(seed).permutation(len(scores))
    assert_allclose(part.weights(scores[order], cohort.only(order), population), weights[order], rtol=1e-9, atol=1e-12)
    assert bits((scores, cohort, population)) == bits(asked(clients, seed))
    assert part.weights(scores, cohort, population).tobytes() == weights.tobytes()


@each("weigh", ByScore(0.1), only=lambda part: not isinstance(part, NOT_ONE))
@given(clients=CLIENTS)
@RANDOM
def test_those_that_promise_it_add_up_to_one(part, clients):
    assert part.weights(*asked(clients)).sum() == pytest.approx(1)
    assert part.weights(*asked(clients[:1])).tolist() == [1]


@EACH
def test_nobody_has_no_weight(part):
    nobody = Cohort(np.empty(0, np.int64), np.empty(0), steps=np.empty(0, np.int64))
    assert part.weights(np.empty(0), nobody, Population.new(np.full(3, 10))).size == 0


@each("weigh", only=lambda part: "scores" in traits_of(part).needs)
@given(clients=CLIENTS)
@RANDOM
def test_by_scores_a_higher_one_never_counts_less_and_none_is_refused_silently(part, clients):
    scores, cohort, population = asked(clients)
    assert (np.diff(part.weights(np.sort(scores), cohort, population)) >= 0).all()
    for value in (np.nan, np.inf, -1.0):
        with pytest.raises(ValueError, match="finite"):
            part.weights(np.where(np.arange(len(scores)) == 0, value, scores), cohort, population)


@given(
    scores=st.lists(st.floats(0, 1e6), min_size=1, max_size=20),
    ceiling=st.floats(0.01, 1.0),
)
def test_no_score_weighs_more_than_the_ceiling(scores, ceiling):
    """A client with a score that no other comes near takes a tenth of the weight where that is the ceiling; where the
    ceilings of all do not fill the whole, all count the same."""
    cohort, people = (
        Cohort(np.arange(len(scores)), np.ones(len(scores))),
        Population.new(np.ones(len(scores), np.int64)),
    )
    found = ByScore(ceiling=ceiling).weights(np.array(scores), cohort, people)
    assert found.max() <= max(ceiling, 1 / len(scores)) * (1 + 1e-9)
    assert_allclose(found.sum(), 1.0)
