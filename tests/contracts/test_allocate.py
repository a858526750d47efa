"""What every allocator promises."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.core.cohort import Outcome
from heteroselect.core.moment import Moment
from heteroselect.core.part import check, setting
from heteroselect.core.state import by_role, flat
from heteroselect.core.traits import traits_of
from heteroselect.parts.allocate import (
    All,
    Allocation,
    Deadline,
    FedBand,
    FedCG,
    FlexCom,
    OptRate,
    Price,
    ScoreShare,
    UniformShare,
    Waterfill,
)
from heteroselect.parts.compress import Drive
from parts.allocate.situations import allocate, context, links

RANDOM = settings(max_examples=25, deadline=None, derandomize=True)


@dataclass(frozen=True)
class Alternate:
    """A user's own: everything in even rounds, a little in odd ones; it remembers the rounds."""

    kind: ClassVar[str] = "alternate"
    minimum: float = setting(0.1, "density of odd rounds", gt=0, le=1)

    @property
    def average(self):
        return (1 + self.minimum) / 2

    def allocate(self, scores, cohort, context):
        theta = 1.0 if len(context.state.get("rounds", ())) % 2 else self.minimum
        return Allocation(theta, np.full(len(scores), theta))

    def learn(self, state, outcome):
        return {"rounds": np.append(state.get("rounds", np.empty(0)), outcome.round)}


FREE = {"ceiling": "none", "warmup_rounds": 0}
SHARES = [
    UniformShare(),
    UniformShare(amplitude=0.4, floor=0.08, warmup_rounds=1, ceiling="paper"),
    ScoreShare(),
    ScoreShare(warmup="allocated"),
    ScoreShare(ceiling="strict"),
    Waterfill(),
    Waterfill(warmup="ramp", warmup_rounds=4, ceiling="none"),
]
OTHERS = [
    FlexCom(),
    FlexCom(0.5),
    OptRate(),
    FedCG(),
    FedCG(0.5),
    FedBand(),
    FedBand(0.5),
]
OURS = [Deadline(), Deadline(deadline=10.0), Price(), Price(1.0, 5.0)]
ALL = [All(), *SHARES, *OTHERS, *OURS, Alternate()]
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


@pytest.mark.parametrize("part", ALL, ids=repr)
@given(clients=CLIENTS, moment=MOMENTS)
@RANDOM
def test_densities_stay_in_their_box_and_follow_a_relabelling(part, clients, moment):
    check(part)
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


@pytest.mark.parametrize("part", [part for part in SHARES if part.ceiling != "none"], ids=repr)
@given(clients=CLIENTS, moment=MOMENTS)
@RANDOM
def test_no_share_goes_over_its_ceiling_but_in_a_full_warmup(part, clients, moment):
    scores, situation = told(clients, moment)
    found = allocate(part, scores, situation)
    caps = np.clip(part.caps(found.theta, situation.conditions), part.minimum, 1)
    assert (found.warmup and part.warmup == "full") or (found.densities <= caps * (1 + 1e-12)).all()


@pytest.mark.parametrize(
    "part",
    [
        All(),
        UniformShare(),
        Waterfill(**FREE),
        Waterfill(),
        FlexCom(),
        OptRate(),
        Deadline(),
        FedBand(),
        Alternate(),
    ],
    ids=repr,
)
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
    found = allocate(ScoreShare(**FREE, minimum=1e-9), scores, situation)
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


@pytest.mark.parametrize("part", [part for part in ALL if "scores" in traits_of(part).needs], ids=repr)
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


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_what_it_is_told_is_left_as_it_was_and_the_answer_is_the_same_again(part):
    clients = [(0.0, 1e6, 1.0, 10, np.nan), (0.5, 5e6, 3.0, 30, 2.0), (1.0, 2e7, 0.5, 20, 7.0)]
    scores, situation = told(clients)
    first = allocate(part, scores, situation)
    again = allocate(part, scores, situation)
    assert first.densities.tobytes() == again.densities.tobytes()
    assert first.theta == again.theta
    fresh, untouched = told(clients)
    assert scores.tolist() == fresh.tolist()
    assert situation.conditions.up.tolist() == untouched.conditions.up.tolist()
    assert situation.population.sizes.tolist() == untouched.population.sizes.tolist()


@pytest.mark.parametrize("part", [part for part in ALL if hasattr(part, "learn")], ids=repr)
def test_what_it_learnt_survives_writing_and_reading(part):
    clients = [(0.5, 5e6, 3.0, 30, 2.0), (1.0, 2e7, 0.5, 20, 7.0)]
    state = {}
    for t in range(1, 8):
        scores, situation = told(clients, Moment(t, 10), state=state)
        found = allocate(part, scores, situation)
        read = by_role({name: array.copy() for name, array in flat({"allocate": state}).items()}).get("allocate", {})
        again = allocate(part, scores, replace(situation, state=read))
        assert (again.theta, again.densities.tobytes()) == (found.theta, found.densities.tobytes())
        norms = np.empty(0) if t == 4 else np.array([3.0, 2.0]) / t
        outcome = Outcome(t, np.arange(len(norms)), found.theta, norms)
        before = {name: array.copy() for name, array in state.items()}
        learnt = part.learn(state, outcome)
        assert {name: array.tobytes() for name, array in state.items()} == {k: v.tobytes() for k, v in before.items()}
        state = learnt
    assert state
