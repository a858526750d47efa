"""What every allocator promises."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from contracts.found import bits, each, stored
from heteroselect.core.cohort import Outcome
from heteroselect.core.moment import Moment
from heteroselect.core.traits import traits_of
from heteroselect.parts.allocate import Deadline, FedBand, FedCG, Price, ScoreShare, UniformShare, Waterfill
from heteroselect.parts.compress import Drive
from parts.allocate.situations import allocate, context, links

RANDOM = settings(max_examples=25, deadline=None, derandomize=True)


MORE = [
    UniformShare(amplitude=0.4, floor=0.08, warmup_rounds=1, ceiling="paper"),
    Waterfill(warmup="ramp", warmup_rounds=4, ceiling="none"),
    *(FedCG(0.5), FedBand(0.5), Deadline(deadline=10.0), Price(1.0, 5.0)),
]
EACH = each("allocate", *MORE)
INSIDE = each("allocate", *MORE, only=lambda part: getattr(part, "minimum", 0.0) <= part.average)
NOT_ALL = ScoreShare, FedCG, Price
"""Spend less where bounds are met, or as much as pays."""
CLIENTS = st.lists(
    st.tuples(
        st.one_of(st.just(0.0), st.floats(1e-6, 1)),
        st.floats(1e5, 1e8),
        st.floats(0, 20),
        st.integers(1, 500),
        st.one_of(st.just(np.nan), st.floats(0.01, 50)),
    ),
    min_size=1,
    max_size=8,
)
MOMENTS = st.integers(1, 12).flatmap(lambda last: st.builds(Moment, st.integers(1, last), st.just(last)))


def told(clients, moment=None, **more):
    """Scores, and links of an update of a million values."""
    scores, up, computing, sizes, norms = (np.array(column) for column in zip(*clients, strict=True))
    conditions = links(up, computing, budget=20.0, size=10**6, coder=Drive())
    return scores, context(conditions, moment or Moment(3, 10), norms=norms, sizes=sizes, **more)


def picked(situation, order):
    return replace(situation, population=situation.population.only(order), conditions=situation.conditions.only(order))


@INSIDE
@given(clients=CLIENTS, moment=MOMENTS)
@RANDOM
def test_densities_stay_in_their_box_and_follow_a_relabelling(part, clients, moment):
    scores, situation = told(clients, moment)
    found = allocate(part, scores, situation)
    least = getattr(part, "minimum", 1.0)
    assert found.densities.shape == scores.shape
    assert ((found.densities >= least) & (found.densities <= 1)).all()
    assert least * (1 - 1e-12) <= found.theta <= 1  # a mean of equal numbers may round to below them
    assert 0 < part.average <= 1
    order = np.arange(len(scores))[::-1]
    again = allocate(part, scores[order], picked(situation, order)) if len(order) > 1 else found
    assert_allclose(again.densities, found.densities[order], rtol=1e-6, atol=1e-9)


@each("allocate", only=lambda part: getattr(part, "ceiling", "none") != "none")
@given(clients=CLIENTS, moment=MOMENTS)
@RANDOM
def test_no_share_goes_over_its_ceiling_but_in_a_full_warmup(part, clients, moment):
    scores, situation = told(clients, moment)
    found = allocate(part, scores, situation)
    caps = np.clip(part.caps(found.theta, situation.conditions), part.minimum, 1)
    assert (found.warmup and part.warmup == "full") or (found.densities <= caps * (1 + 1e-12)).all()


@each("allocate", only=lambda part: not isinstance(part, NOT_ALL) and getattr(part, "minimum", 0.0) <= part.average)
@given(clients=CLIENTS, moment=MOMENTS)
@RANDOM
def test_the_budget_is_spent_unless_that_is_impossible(part, clients, moment):
    scores, situation = told(clients, moment)
    found = allocate(part, scores, situation)
    most = np.ones(len(scores))
    if getattr(part, "ceiling", "none") != "none" and not found.warmup:
        most = np.clip(part.caps(found.theta, situation.conditions), part.minimum, 1)
    if isinstance(part, UniformShare):
        most = np.minimum(most, found.theta)  # what a capped client cannot use is nobody else's
    assert found.densities.sum() == pytest.approx(min(found.theta * len(scores), most.sum()), rel=1e-6)


@given(clients=CLIENTS)
@RANDOM
def test_in_proportion_to_the_score_the_budget_is_spent_where_no_bound_is_met(clients):
    scores, situation = told(clients)
    found = allocate(ScoreShare(ceiling="none", warmup_rounds=0, minimum=1e-9), scores, situation)
    if (found.densities < 1).all():
        assert found.densities.sum() == pytest.approx(found.theta * len(scores), abs=1e-6)


@given(clients=CLIENTS, average=st.floats(0.05, 0.95))
@RANDOM
def test_fedcg_spends_the_average(clients, average):
    scores, situation = told(clients)
    found = allocate(FedCG(average), scores, situation)
    if (found.densities > 0.006).all():
        assert found.densities.mean() == pytest.approx(average, rel=1e-6)
    else:  # the slowest sends its minimum, and whoever is faster what it can meanwhile
        assert found.densities.mean() >= average - 1e-6


@each("allocate", only=lambda part: "scores" in traits_of(part).needs)
@given(clients=CLIENTS, moment=MOMENTS)
@RANDOM
def test_under_one_ceiling_a_higher_score_never_gets_less_and_no_number_is_refused(part, clients, moment):
    scores, situation = told([(client[0], *clients[0][1:]) for client in clients], moment)
    found = allocate(part, np.sort(scores), situation)
    assert (np.diff(found.densities) >= -1e-12).all()
    if not (found.warmup and part.warmup == "full"):
        for value in (np.nan, np.inf):
            with pytest.raises(ValueError, match="finite"):
                allocate(part, np.where(np.arange(len(scores)) == 0, value, scores), situation)


@EACH
def test_what_it_is_told_is_left_as_it_was_and_the_answer_is_the_same_again(part):
    clients = [(0.0, 1e6, 1.0, 10, np.nan), (0.5, 5e6, 3.0, 30, 2.0), (1.0, 2e7, 0.5, 20, 7.0)]
    asked = told(clients)
    assert bits(allocate(part, *asked)) == bits(allocate(part, *asked))
    assert bits(asked) == bits(told(clients))


@each("allocate", only=lambda part: hasattr(part, "learn"))
def test_what_it_learnt_survives_writing_and_reading(part):
    clients = [(0.5, 5e6, 3.0, 30, 2.0), (1.0, 2e7, 0.5, 20, 7.0)]
    state = {}
    for t in range(1, 8):
        scores, situation = told(clients, Moment(t, 10), state=state)
        found = allocate(part, scores, situation)
        assert bits(allocate(part, scores, replace(situation, state=stored(state)))) == bits(found)
        norms = np.empty(0) if t == 4 else np.array([3.0, 2.0]) / t
        before = bits(state)
        learnt = part.learn(state, Outcome(t, np.arange(len(norms)), found.theta, norms))
        assert bits(state) == before
        state = learnt
    assert state
