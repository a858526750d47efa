"""What every scorer promises, the shipped ones and a user's own."""

import math
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.core import part, state
from heteroselect.core.cohort import Outcome, SelectionContext
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.traits import traits_of
from heteroselect.core.update import Update
from heteroselect.parts.score import Informativeness, NoScore, Scores


class Largest:
    """A user's own: whoever has most data."""

    batches = 1
    augmented = False

    def asks(self, context):
        return context.ids[:0]

    def score(self, context):
        return Scores(context.ids, context.population.sizes / context.population.sizes.max(), {})


SHIPPED = [
    NoScore(),
    Informativeness(),
    Informativeness(diversity_weight=0.0, constant=1.0, fairness_start=1.0, raw_staleness=True),
    Informativeness(loss_weight=0.0),
    Informativeness(mode="candidates", candidates=4),
    Informativeness(mode="candidates", candidates=4, candidates_by_size=True),
    Informativeness(mode="stale"),
]
ALL = pytest.mark.parametrize("scorer", [*SHIPPED, Largest()])
IDS = np.array([1, 2, 4, 5, 9, 12, 13])
MOMENT = Moment(6, 20)


def known(seed=0) -> Population:
    rng = default_rng(seed)
    clients = len(IDS)
    return replace(
        Population.new(rng.permutation(10 + 5 * np.arange(clients))).reported_by({1: {"loss": 2.0}, 4: {"loss": 1.0}}),
        counts=rng.integers(0, 5, clients),
        last_round=rng.integers(0, MOMENT.round, clients),
        uploads={k: Update.whole(rng.standard_normal(5).astype(np.float32)) for k in range(0, clients, 2)},
    )


def situation(scorer, population=None, seed=0, kept=None) -> SelectionContext:
    """No more than the scorer says that it needs, and the losses that it asks for."""
    population = known() if population is None else population
    if "uploads" not in traits_of(scorer).needs:
        population = replace(population, uploads={})
    context = SelectionContext(MOMENT, IDS, population, rng=default_rng(seed), state=kept or {})
    asked = scorer.asks(context)
    losses = np.where(np.isin(IDS, asked), default_rng(9).uniform(0.5, 3, len(IDS)), np.nan)
    return replace(context, population=replace(population, losses=losses), rng=None)


def outcome(seed):
    return Outcome(
        seed, IDS[:2], 0.2, np.ones(2), Update.whole(default_rng(seed).standard_normal(5).astype(np.float32))
    )


def learnt(scorer, rounds=3):
    kept = {}
    for seed in range(rounds):
        kept = scorer.learn(kept, outcome(seed)) if hasattr(scorer, "learn") else kept
    return kept


def test_kinds_declare_themselves():
    assert {type(one).kind for one in SHIPPED} == {"none", "informativeness"}
    for one in SHIPPED:
        part.check(one)
        assert all(declared.meaning for declared in part.declared(type(one)).values())
        assert traits_of(one).needs <= {"losses", "reports", "uploads"}


@ALL
def test_asked_are_candidates_once_each_and_nobody_without_need(scorer):
    for seed in range(20):
        context = SelectionContext(MOMENT, IDS, known(), rng=default_rng(seed))
        asked, again = scorer.asks(context), scorer.asks(replace(context, rng=default_rng(seed)))
        assert asked.tolist() == again.tolist() == sorted(set(asked.tolist()))
        assert set(asked.tolist()) <= set(IDS.tolist())
        assert (len(asked) > 0) == ("losses" in traits_of(scorer).needs)
    assert scorer.batches >= 1
    assert scorer.augmented in (True, False)


@ALL
def test_one_score_for_each_who_may_be_selected_and_nothing_given_is_changed(scorer):
    context = situation(scorer, kept=learnt(scorer))
    before = deepcopy(vars(context.population)), deepcopy(context.state)
    scores = scorer.score(context)
    assert (np.diff(scores.ids) > 0).all()
    candidates = isinstance(scorer, Informativeness) and scorer.mode == "candidates"
    assert len(scores.ids) == (4 if candidates else len(IDS))
    assert ((scores.total >= 0) & (scores.total <= 1)).all()
    assert all(one.shape == scores.total.shape for one in scores.parts.values())
    for name, values in before[0].items():
        if isinstance(values, np.ndarray):
            assert np.array_equal(values, getattr(context.population, name), equal_nan=True)
    assert all((before[1][name] == context.state[name]).all() for name in before[1])
    assert scorer.score(context).total.tolist() == scores.total.tolist()


@ALL
def test_relabelling_clients_relabels_their_scores(scorer):
    context = situation(scorer, kept=learnt(scorer))
    order = default_rng(3).permutation(len(IDS))
    found = dict(zip(scorer.score(context).ids, scorer.score(context).total, strict=True))
    turned = scorer.score(replace(context, population=context.population.only(order)))
    back = dict(zip(IDS, IDS[order], strict=True))
    assert_allclose(turned.total, [found[back[k]] for k in turned.ids], atol=1e-12)


@ALL
def test_the_state_survives_being_written_down_and_is_not_changed_in_place(scorer):
    kept = learnt(scorer)
    written = state.by_role(state.flat({"score": kept})).get("score", {})
    one, other = (scorer.score(situation(scorer, kept=k)).total for k in (kept, written))
    assert one.tolist() == other.tolist()
    if kept:
        before = deepcopy(kept)
        scorer.learn(kept, outcome(9))
        assert all((before[name] == kept[name]).all() for name in kept)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("scorer", [one for one in SHIPPED if "losses" in traits_of(one).needs and one.mode == "all"])
def test_a_loss_that_is_not_finite_is_refused(scorer, bad):
    context = situation(scorer)
    context.population.losses[1] = bad
    with pytest.raises(ValueError, match="not finite"):
        scorer.score(context)
