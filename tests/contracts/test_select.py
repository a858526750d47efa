"""What every selector promises, the shipped ones and a user's own; and what a second selection after training does."""

import math
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.core import part, state
from heteroselect.core.cohort import checked
from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population, remembered
from heteroselect.core.traits import Traits, traits_of
from heteroselect.core.update import Update
from heteroselect.parts.select import (
    RBCSF,
    AdaSample,
    Balanced,
    Clustered,
    Delta,
    DivFL,
    Everybody,
    FairFedCS,
    FedCG,
    FedCor,
    FedCS,
    FedLECC,
    FedSTaS,
    LongFed,
    Oort,
    OptimalSampling,
    Pool,
    PowerOfChoice,
    Reinforced,
    SelectionContext,
    SendAll,
    Softmax,
    Uniform,
)


class Seldom:
    """A user's own: whoever has taken part least often; among equals those with the higher score."""

    traits = Traits(needs={"scores"})

    def select(self, scores, context):
        if np.isnan(scores).any():
            raise ValueError("a client's score is not a number")
        return context.cohort(np.lexsort((-scores, context.population.counts))[: context.size])


SHIPPED = [
    *(Uniform(), Everybody(), Pool(6), Pool(), Softmax(), Softmax(0.2, 0.0), PowerOfChoice()),
    *(Oort(), Oort(tired=2)),
    *(DivFL(), FedCG(), FedCG(average=0.5)),
    *(FedCS(), FedCS(deadline=60.0, factor=1)),
    *(AdaSample(), AdaSample(ratio=0.5), Clustered(), Clustered("size"), Delta(), Delta(floor=0.1, variance=True)),
    *(Balanced(), Balanced(1.0), FedCor(), FedCor(warmup=2, every=3)),
    *(RBCSF(), RBCSF(speed=0.1), FairFedCS(), FairFedCS(0.0), FedSTaS(), FedSTaS(2)),
    *(FedLECC(), FedLECC(2, 0.5), LongFed(), LongFed(0.0), Reinforced()),
]
FEWER = (FedCS, AdaSample, Clustered, Delta)  # a deadline, or draws with replacement, may take fewer than m
DRAWS = 1500
GAPS = np.array([1, 2, 4, 5, 9, 12, 13, 20, 21, 30])
MOMENT = Moment(6, 20)
WORDS = {"scores", "losses", "reports", "examples", "uploads", "links", "labels", "variance"}


def each(*kinds):
    return pytest.mark.parametrize("selector", [one for one in [*SHIPPED, Seldom()] if not kinds or type(one) in kinds])


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


def situation(selector, ids=GAPS, population=None, conditions=None, size=4, seed=0, kept=None) -> SelectionContext:
    """No more than the selector says that it needs."""
    needs = traits_of(selector).needs
    population = known(len(ids)) if population is None else population
    population = population if "uploads" in needs else replace(population, uploads={})
    conditions = (conditions or links(len(ids))) if "links" in needs else None
    return SelectionContext(MOMENT, ids, population, size, default_rng(seed), conditions, kept or {})


def same(one, other) -> bool:
    """Whether two nests of dataclasses, dicts and arrays are the same."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if is_dataclass(one):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return np.array_equal(one, other, equal_nan=True) if isinstance(one, np.ndarray) else one == other


def test_kinds_declare_themselves():
    kinds = {type(one) for one in SHIPPED} | {OptimalSampling, SendAll}
    assert len({kind.kind for kind in kinds}) == len(kinds)
    for one in [*SHIPPED, OptimalSampling(), SendAll()]:
        part.check(one)
        assert all(declared.meaning for declared in part.declared(type(one)).values())
        assert traits_of(one).needs <= WORDS
        assert all("kind" in brought for brought in traits_of(one).brings.values())


@each()
@pytest.mark.parametrize("fresh", [False, True])
def test_distinct_client_numbers_of_the_candidates(selector, fresh):
    population = Population.new(np.arange(10, 10 + len(GAPS))) if fresh else known()
    for size in (1, 4, len(GAPS)):
        check_distinct(selector, situation(selector, population=population, size=size), size)


def check_distinct(selector, context, size):
    cohort = checked(selector.select(scored(), context), context.ids)
    if isinstance(selector, Everybody):
        assert cohort.ids.tolist() == GAPS.tolist()
    elif isinstance(selector, Pool):
        assert len(cohort.ids) == min(max(selector.pool, size), len(GAPS))
        assert (np.diff(cohort.ids) > 0).all()
    elif isinstance(selector, FEWER):
        assert 1 <= len(cohort.ids) <= size
    else:
        assert len(cohort.ids) == size
    assert ((cohort.inclusion > 0) & (cohort.inclusion <= 1)).all()
    assert cohort.share is None or (cohort.share > 0).all()


@each()
def test_a_seed_gives_one_cohort_and_nothing_given_is_changed(selector):
    kept = selector.select(scored(), situation(selector)).state
    context = situation(selector, seed=3, kept=kept)
    before, scores = deepcopy(replace(context, rng=None)), scored()
    first = selector.select(scores, context)
    assert same(before, replace(context, rng=None))
    assert same(scores, scored())
    assert same(first, selector.select(scored(), situation(selector, seed=3, kept=kept)))


@each()
def test_the_state_survives_being_written_down(selector):
    kept = written = {}
    for seed in range(4):
        ids = GAPS if seed % 2 else GAPS[2:]  # not always the same candidates
        one, other = (
            selector.select(scored(len(ids)), situation(selector, ids, seed=seed, kept=k)) for k in (kept, written)
        )
        assert same(one, other)
        assert set(one.ids.tolist()) <= set(ids.tolist())
        kept, written = one.state, state.by_role(state.flat({"select": other.state})).get("select", {})


@each(Everybody, PowerOfChoice, DivFL, FedCG, FedLECC, Seldom)
def test_relabelling_clients_relabels_the_answer(selector):
    order = default_rng(8).permutation(len(GAPS))
    population = known() if isinstance(selector, DivFL | FedCG) else replace(known(), counts=np.arange(len(GAPS)))
    cohort = selector.select(scored(), situation(selector, population=population))
    turned = situation(selector, population=population.only(order), conditions=links().only(order))
    relabelled = selector.select(scored()[order], turned)
    back = dict(zip(GAPS, GAPS[order], strict=True))
    assert {back[k] for k in relabelled.ids} == set(cohort.ids.tolist())
    if cohort.share is not None:
        shares = dict(zip(cohort.ids, cohort.share, strict=True))
        assert_allclose(relabelled.share, [shares[back[k]] for k in relabelled.ids])


@each(
    Uniform,
    Pool,
    Softmax,
    Oort,
    FedCS,
    AdaSample,
    Clustered,
    Delta,
    Balanced,
    FedCor,
    FairFedCS,
    FedSTaS,
    LongFed,
    Reinforced,
)
@pytest.mark.slow
def test_relabelling_clients_relabels_how_often_each_is_drawn(selector):
    """A generator goes by place, so single draws do not follow; their frequencies do, within 4 standard errors."""
    draws, order = DRAWS // 3, default_rng(8).permutation(len(GAPS))
    turned = situation(selector, population=known().only(order), conditions=links().only(order))
    one = drawn_often(selector, scored(), situation(selector), range(draws))
    other = drawn_often(selector, scored()[order], turned, range(draws, 2 * draws))
    mean = (one[order] + other) / 2
    assert (abs(one[order] - other) <= 4 * np.sqrt(2 * mean * (1 - mean) / draws) + 1e-12).all()


def drawn_often(selector, scores, context, seeds):
    """How often each candidate was drawn."""
    seen = sum(np.isin(GAPS, selector.select(scores, replace(context, rng=default_rng(seed))).ids) for seed in seeds)
    return seen.astype(np.int64) / len(seeds)


@each()
def test_equal_scores_are_no_obstacle(selector):
    context = situation(selector)
    checked(selector.select(np.full(len(GAPS), 0.5), context), context.ids)


@each(Softmax, PowerOfChoice, FedLECC, Seldom)
def test_a_score_that_is_not_a_number_is_refused(selector):
    assert "scores" in traits_of(selector).needs
    scores = scored()
    scores[2] = math.nan
    with pytest.raises(ValueError, match="not"):
        selector.select(scores, situation(selector))


@each(Oort, FedCG, FedCS, AdaSample, RBCSF, Reinforced)
def test_links_are_asked_for_where_they_are_missing(selector):
    assert "links" in traits_of(selector).needs
    with pytest.raises(ValueError, match="links"):
        selector.select(scored(), replace(situation(selector), conditions=None))


@each(Uniform, Everybody, Pool, Softmax, Balanced)
@pytest.mark.slow
def test_a_sum_divided_by_inclusion_is_unbiased(selector):
    x = default_rng(5).standard_normal(GAPS.max() + 1)
    context, sums = situation(selector), np.empty(DRAWS)
    for seed in range(DRAWS):
        cohort = selector.select(scored(), replace(context, rng=default_rng(seed)))
        sums[seed] = (x[cohort.ids] / cohort.inclusion).sum()
    assert abs(sums.mean() - x[GAPS].sum()) <= 4 * sums.std() / math.sqrt(DRAWS) + 1e-9


@each(AdaSample, Clustered, Delta, Balanced)
@pytest.mark.slow
def test_a_sum_weighed_by_share_is_unbiased(selector):
    x, sizes = default_rng(5).standard_normal(GAPS.max() + 1), known().sizes
    context, sums = situation(selector), np.empty(DRAWS)
    for seed in range(DRAWS):
        cohort = selector.select(scored(), replace(context, rng=default_rng(seed)))
        sums[seed] = cohort.share @ x[cohort.ids]
    assert abs(sums.mean() - x[GAPS] @ sizes / sizes.sum()) <= 4 * sums.std() / math.sqrt(DRAWS)


@pytest.mark.parametrize("rule", ["exact", "aocs"])
@pytest.mark.slow
def test_a_second_selection_is_among_those_who_trained_reproducible_and_unbiased(rule):
    rng = default_rng(6)
    norms, data, x = rng.exponential(size=len(GAPS)), rng.dirichlet(np.ones(len(GAPS))), rng.standard_normal(31)
    sums, counts = np.empty(DRAWS), np.empty(DRAWS)
    for seed in range(DRAWS):
        cohort, again = (OptimalSampling(rule).choose(GAPS, norms, data, 4, default_rng(seed)) for _ in range(2))
        assert same(cohort, again)
        assert set(cohort.ids.tolist()) <= set(GAPS.tolist())
        sums[seed], counts[seed] = cohort.share @ x[cohort.ids], len(cohort.ids)
    assert abs(sums.mean() - data @ x[GAPS]) <= 4 * sums.std() / math.sqrt(DRAWS)
    assert abs(counts.mean() - 4) <= 4 * counts.std() / math.sqrt(DRAWS)
    with pytest.raises(ValueError, match="length"):
        OptimalSampling(rule).choose(GAPS, np.full(len(GAPS), math.nan), data, 4, default_rng(0))
