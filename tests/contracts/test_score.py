"""What every part promises."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose

from contracts.found import bits, each, stored
from heteroselect.core.cohort import Outcome, SelectionContext
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.traits import traits_of
from heteroselect.core.update import Update
from heteroselect.parts.score import Informativeness

EACH = each(
    "score",
    Informativeness(diversity_weight=0.0, constant=1.0, fairness_start=1.0, raw_staleness=True),
    Informativeness(loss_weight=0.0),
    *(Informativeness(mode="candidates", candidates=4, candidates_by_size=by_size) for by_size in (False, True)),
)
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


def situation(part, population=None, seed=0, kept=None) -> SelectionContext:
    """No more than the part says that it needs, and the losses that it asks for."""
    population = known() if population is None else population
    if "uploads" not in traits_of(part).needs:
        population = replace(population, uploads={})
    context = SelectionContext(MOMENT, IDS, population, rng=default_rng(seed), state=kept or {})
    asked = part.asks(context)
    losses = np.where(np.isin(IDS, asked), default_rng(9).uniform(0.5, 3, len(IDS)), np.nan)
    return replace(context, population=replace(population, losses=losses), rng=None)


def outcome(seed):
    return Outcome(
        seed, IDS[:2], 0.2, np.ones(2), Update.whole(default_rng(seed).standard_normal(5).astype(np.float32))
    )


def learnt(part, rounds=3):
    kept = {}
    for seed in range(rounds):
        kept = part.learn(kept, outcome(seed)) if hasattr(part, "learn") else kept
    return kept


@EACH
def test_asked_are_candidates_once_each_and_nobody_without_need(part):
    for seed in range(20):
        context = SelectionContext(MOMENT, IDS, known(), rng=default_rng(seed))
        asked, again = part.asks(context), part.asks(replace(context, rng=default_rng(seed)))
        assert asked.tolist() == again.tolist() == sorted(set(asked.tolist()))
        assert set(asked.tolist()) <= set(IDS.tolist())
        assert (len(asked) > 0) == ("losses" in traits_of(part).needs)
    assert part.batches >= 1
    assert part.augmented in (True, False)


@EACH
def test_one_score_for_each_who_may_be_selected_and_nothing_given_is_changed(part):
    context = situation(part, kept=learnt(part))
    before = bits(context)
    scores = part.score(context)
    assert (np.diff(scores.ids) > 0).all()
    most = part.candidates if getattr(part, "mode", "all") == "candidates" else len(IDS)
    assert len(scores.ids) == min(most, len(IDS))
    assert ((scores.total >= 0) & (scores.total <= 1)).all()
    assert all(one.shape == scores.total.shape for one in scores.parts.values())
    assert bits(context) == before
    assert bits(part.score(context)) == bits(scores)


@EACH
def test_relabelling_clients_relabels_their_scores(part):
    context = situation(part, kept=learnt(part))
    order = default_rng(3).permutation(len(IDS))
    found = dict(zip(part.score(context).ids, part.score(context).total, strict=True))
    turned = part.score(replace(context, population=context.population.only(order)))
    back = dict(zip(IDS, IDS[order], strict=True))
    assert_allclose(turned.total, [found[back[k]] for k in turned.ids], atol=1e-12)


@EACH
def test_the_state_survives_being_written_down_and_is_not_changed_in_place(part):
    kept = learnt(part)
    one, other = (part.score(situation(part, kept=k)) for k in (kept, stored(kept)))
    assert bits(one) == bits(other)
    if kept:
        before = bits(kept)
        part.learn(kept, outcome(9))
        assert bits(kept) == before


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@each("score", only=lambda part: "losses" in traits_of(part).needs and getattr(part, "mode", "all") == "all")
def test_a_loss_that_is_not_finite_is_refused(part, bad):
    context = situation(part)
    context.population.losses[1] = bad
    with pytest.raises(ValueError, match="not finite"):
        part.score(context)
