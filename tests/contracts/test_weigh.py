"""What every weigher promises."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.core.cohort import Cohort
from heteroselect.core.part import check
from heteroselect.core.population import Population
from heteroselect.core.traits import traits_of
from heteroselect.parts.aggregate import ByData, ByScore, ByShare, ByVariance, Equal, FedNova, Inverse, OneOfAll

RANDOM = settings(max_examples=40, deadline=None, derandomize=True)


@dataclass(frozen=True)
class Seniority:
    """A user's own: whoever was selected more often counts more."""

    kind: ClassVar[str] = "seniority"

    def weights(self, scores, cohort, population):
        counts = population.counts[cohort.ids] + 1.0
        return counts / max(1.0, counts.sum())


SUM_ONE = [ByData(), Equal(), ByScore(), ByScore(0.1), Inverse(), ByVariance(), Seniority()]
ALL = [*SUM_ONE, OneOfAll(), ByShare(), FedNova(), FedNova(0.0)]
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


@pytest.mark.parametrize("part", ALL, ids=repr)
@given(clients=CLIENTS, seed=st.integers(0, 99))
@RANDOM
def test_weights_are_finite_not_negative_and_follow_a_relabelling(part, clients, seed):
    check(part)
    scores, cohort, population = asked(clients, seed)
    before = scores.copy(), cohort.ids.copy(), population.sizes.copy()
    weights = part.weights(scores, cohort, population)
    assert weights.shape == scores.shape
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    order = np.random.default_rng(seed).permutation(len(scores))
    assert_allclose(part.weights(scores[order], cohort.only(order), population), weights[order], rtol=1e-9, atol=1e-12)
    for old, new in zip(before, (scores, cohort.ids, population.sizes), strict=True):
        assert old.tolist() == new.tolist()
    assert part.weights(scores, cohort, population).tobytes() == weights.tobytes()


@pytest.mark.parametrize("part", SUM_ONE, ids=repr)
@given(clients=CLIENTS)
@RANDOM
def test_those_that_promise_it_add_up_to_one(part, clients):
    assert part.weights(*asked(clients)).sum() == pytest.approx(1)
    assert part.weights(*asked(clients[:1])).tolist() == [1]


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_nobody_has_no_weight(part):
    nobody = Cohort(np.empty(0, np.int64), np.empty(0), steps=np.empty(0, np.int64))
    assert part.weights(np.empty(0), nobody, Population.new(np.full(3, 10))).size == 0


@pytest.mark.parametrize("part", [part for part in ALL if "scores" in traits_of(part).needs], ids=repr)
@given(clients=CLIENTS)
@RANDOM
def test_by_scores_a_higher_one_never_counts_less_and_none_is_refused_silently(part, clients):
    scores, cohort, population = asked(clients)
    assert (np.diff(part.weights(np.sort(scores), cohort, population)) >= 0).all()
    for value in (np.nan, np.inf, -1.0):
        with pytest.raises(ValueError, match="finite"):
            part.weights(np.where(np.arange(len(scores)) == 0, value, scores), cohort, population)
