"""What every selector promises."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

from contracts.found import bits, each, stored
from heteroselect.core.cohort import checked
from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population, remembered
from heteroselect.core.traits import traits_of
from heteroselect.core.update import Update
from heteroselect.parts.select import (
    RBCSF,
    AdaSample,
    Balanced,
    Clustered,
    Delta,
    DivFL,
    Everybody,
    FedCG,
    FedCor,
    FedCS,
    FedSTaS,
    Pool,
    PowerOfChoice,
    SelectionContext,
)

MORE = [
    Pool(6),
    *(FedCG(average=0.5), FedCS(deadline=60.0)),
    *(AdaSample(ratio=0.5), Balanced(1.0)),
    *(FedCor(warmup=2, every=3), FedSTaS(2)),
]
EACH = each("select", *MORE)
FEWER = FedCS, AdaSample, Clustered, Delta
"""A deadline, or draws with replacement, may take fewer than m."""
STANDS_FOR = DivFL, FedCG, FedSTaS
"""Their shares are how many clients each stands for, which is no chance."""
OTHER_CHANCES = FedCS, AdaSample, Clustered, Delta
"""Their inclusion is the chance of being asked, or of a single draw."""
DRAWS = 1500
GAPS = np.array([1, 2, 4, 5, 9, 12, 13, 20, 21, 30])
MOMENT = Moment(6, 20)


def known(clients=len(GAPS), seed=0) -> Population:
    """Clients that have all taken part, no two of them alike."""
    rng = default_rng(seed)
    names = ("rms", "seconds", "norm", "loss")
    reports = {k: dict(zip(names, rng.uniform(0.5, 3, len(names)), strict=True)) for k in range(clients)}
    for k, share in enumerate(default_rng(seed + 9).uniform(size=clients)):
        reports[k] |= {"label0": share, "label1": 1 - share}
    vectors = rng.standard_normal((clients, 6)).astype(np.float32)
    whole = {k: Update.whole(vector) for k, vector in enumerate(vectors)}
    whole[1] = remembered(Update.keep(vectors[1], np.array([0, 3])))
    return replace(
        Population.new(rng.permutation(10 + 5 * np.arange(clients))).reported_by(reports),
        counts=1 + rng.permutation(clients) // 3,
        last_round=rng.integers(1, MOMENT.round, clients),
        uploads=whole,
    )


def links(clients=len(GAPS), seed=1) -> Conditions:
    rng = default_rng(seed)
    up = rng.uniform(5, 50, clients)
    steps = rng.uniform(0.1, 0.5, clients)
    return Conditions(up, up, steps, np.ones(clients, bool), passes=50.0, size=6)


def scored(clients=len(GAPS)):
    return default_rng(2).permutation(clients) / clients


def situation(part, ids=GAPS, population=None, conditions=None, size=4, seed=0, kept=None) -> SelectionContext:
    """No more than the part says that it needs."""
    needs = traits_of(part).needs
    population = known(len(ids)) if population is None else population
    population = population if "uploads" in needs else replace(population, uploads={})
    conditions = (conditions or links(len(ids))) if "links" in needs else None
    return SelectionContext(MOMENT, ids, population, size, default_rng(seed), conditions, kept or {})


@EACH
@pytest.mark.parametrize("fresh", [False, True])
def test_distinct_client_numbers_of_the_candidates(part, fresh):
    population = Population.new(np.arange(10, 10 + len(GAPS))) if fresh else known()
    for size in (1, 4, len(GAPS)):
        context = situation(part, population=population, size=size)
        cohort = checked(part.select(scored(), context), context.ids)
        trained = getattr(part, "pool", size) or len(GAPS)  # a pool of 0 is everybody
        most = len(GAPS) if isinstance(part, Everybody) else min(max(trained, size), len(GAPS))
        assert 1 <= len(cohort.ids) <= most
        assert len(cohort.ids) == most or isinstance(part, FEWER)
        assert (cohort.share is not None) == traits_of(part).shares
        assert ((cohort.inclusion > 0) & (cohort.inclusion <= 1)).all()
        assert cohort.share is None or (cohort.share > 0).all()


@EACH
def test_a_seed_gives_one_cohort_and_nothing_given_is_changed(part):
    kept = part.select(scored(), situation(part)).state
    context = situation(part, seed=3, kept=kept)
    before, scores = bits(replace(context, rng=None)), scored()
    first = part.select(scores, context)
    assert bits(replace(context, rng=None)) == before
    assert bits(scores) == bits(scored())
    assert bits(first) == bits(part.select(scored(), situation(part, seed=3, kept=kept)))


@EACH
def test_the_state_survives_being_written_down(part):
    kept = written = {}
    for seed in range(4):
        ids = GAPS if seed % 2 else GAPS[2:]  # not always the same candidates
        one, other = (part.select(scored(len(ids)), situation(part, ids, seed=seed, kept=k)) for k in (kept, written))
        assert bits(one) == bits(other)
        assert set(one.ids.tolist()) <= set(ids.tolist())
        kept, written = one.state, stored(other.state)


@each("select", *MORE, only=lambda part: not isinstance(part, RBCSF), bounds=False)  # which goes by place among equals
@pytest.mark.slow
def test_relabelling_clients_relabels_how_often_each_is_drawn(part):
    """A generator goes by place, so single draws do not follow; their frequencies do, within 4 standard errors."""
    draws, order, population = DRAWS // 3, default_rng(8).permutation(len(GAPS)), known()
    if isinstance(part, PowerOfChoice):  # among equals it goes by place
        population = replace(population, counts=np.arange(len(GAPS)))
    turned = situation(part, population=population.only(order), conditions=links().only(order))
    one = drawn_often(part, scored(), situation(part, population=population), range(draws))
    other = drawn_often(part, scored()[order], turned, range(draws, 2 * draws))
    mean = (one[order] + other) / 2
    assert (abs(one[order] - other) <= 4 * np.sqrt(2 * mean * (1 - mean) / draws) + 1e-12).all()


def drawn_often(part, scores, context, seeds):
    """How often each candidate was drawn."""
    seen = sum(np.isin(GAPS, part.select(scores, replace(context, rng=default_rng(seed))).ids) for seed in seeds)
    return seen.astype(np.int64) / len(seeds)


@EACH
def test_equal_scores_are_no_obstacle(part):
    context = situation(part)
    checked(part.select(np.full(len(GAPS), 0.5), context), context.ids)


@each("select", only=lambda part: "scores" in traits_of(part).needs)
def test_a_score_that_is_not_a_number_is_refused(part):
    scores = scored()
    scores[2] = math.nan
    with pytest.raises(ValueError, match="not"):
        part.select(scores, situation(part))


@each("select", only=lambda part: "links" in traits_of(part).needs, bounds=False)
def test_links_are_asked_for_where_they_are_missing(part):
    with pytest.raises(ValueError, match="links"):
        part.select(scored(), replace(situation(part), conditions=None))


def assert_unbiased(part, estimate, expected):
    """Of many draws, within 4 standard errors."""
    context = situation(part)
    drawn = (part.select(scored(), replace(context, rng=default_rng(seed))) for seed in range(DRAWS))
    sums = np.array([estimate(cohort) for cohort in drawn])
    assert abs(sums.mean() - expected) <= 4 * sums.std() / math.sqrt(DRAWS) + 1e-9


X = default_rng(5).standard_normal(GAPS.max() + 1)


@each("select", *MORE, only=lambda part: not isinstance(part, OTHER_CHANCES), bounds=False)
@pytest.mark.slow
def test_a_sum_divided_by_inclusion_is_unbiased_where_that_is_not_one_for_everybody(part):
    if (part.select(scored(), situation(part)).inclusion != 1).any():
        assert_unbiased(part, lambda cohort: (X[cohort.ids] / cohort.inclusion).sum(), X[GAPS].sum())


@each("select", *MORE, only=lambda part: traits_of(part).shares and not isinstance(part, STANDS_FOR), bounds=False)
@pytest.mark.slow
def test_a_sum_weighed_by_share_is_unbiased(part):
    sizes = known().sizes
    assert_unbiased(part, lambda cohort: cohort.share @ X[cohort.ids], X[GAPS] @ sizes / sizes.sum())
