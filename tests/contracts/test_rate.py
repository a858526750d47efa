"""What every rule for the local learning rate, and for the number of local steps, promises."""

from dataclasses import dataclass

import numpy as np
import pytest

from heteroselect.core.moment import Moment
from heteroselect.core.part import FieldError, check, declared
from heteroselect.core.traits import Traits, traits_of
from heteroselect.parts.train import CosineRate, DeviceSteps, EqualSteps, ScoreRate, SharedRate


@dataclass(frozen=True)
class Halved:
    """A user's own rate: 0.1, and half of it for clients with a low score."""

    traits = Traits(needs={"scores"})

    def eta(self, moment):
        return 0.1

    def of_clients(self, moment, scores):
        if not np.isfinite(scores).all():
            raise ValueError("a score is not finite")
        return [0.05 if score < np.median(scores) else 0.1 for score in scores]


@dataclass(frozen=True)
class Hurried:
    """A user's own work: half the steps for the slower half."""

    def of(self, steps, step_seconds):
        if not np.isfinite(step_seconds).all():
            raise ValueError("not finite")
        return np.where(step_seconds > np.median(step_seconds), max(1, steps // 2), steps)


COSINES = [CosineRate(), CosineRate(0.2, 60.0)]
RATES = [
    SharedRate(),
    SharedRate(0.2, 1.0),
    ScoreRate(),
    ScoreRate(0.1, 0.0, 0.12),
    CosineRate(),
    CosineRate(0.2, 60.0),
    Halved(),
]
WORKS = [EqualSteps(), DeviceSteps(), Hurried()]
MOMENTS = [Moment(1, 10), Moment(7, 10, 33.0), Moment(30, 10, 500.0)]
SCORES = np.array([0.4, 0.0, 1.0, 0.4, 0.9])
SECONDS = np.array([0.1, 0.02, 0.3, 0.1, 0.2])


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
@pytest.mark.parametrize("rate", RATES, ids=repr)
def test_one_rate_per_client_finite_and_not_negative(rate, moment):
    before = SCORES.copy()
    rates = rate.of_clients(moment, SCORES)
    assert len(rates) == len(SCORES)
    assert all(type(one) is float and np.isfinite(one) and one >= 0 for one in [*rates, rate.eta(moment)])
    assert rates == rate.of_clients(moment, SCORES)
    assert (before == SCORES).all()
    assert rate.of_clients(moment, SCORES[:0]) == []


@pytest.mark.parametrize("rate", RATES, ids=repr)
def test_relabelling_clients_relabels_their_rates(rate):
    order = np.array([3, 1, 4, 0, 2])
    rates = rate.of_clients(MOMENTS[0], SCORES)
    assert rate.of_clients(MOMENTS[0], SCORES[order]) == [rates[place] for place in order]


@pytest.mark.parametrize("rate", [rate for rate in RATES if "scores" in traits_of(rate).needs], ids=repr)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_rate_that_needs_scores_refuses_one_that_is_not_finite(rate, bad):
    with pytest.raises(ValueError, match="not finite"):
        rate.of_clients(MOMENTS[0], np.array([0.5, bad]))


@pytest.mark.parametrize("rate", [rate for rate in RATES if "scores" not in traits_of(rate).needs], ids=repr)
def test_a_rate_that_needs_no_scores_does_not_look_at_them(rate):
    assert rate.of_clients(MOMENTS[0], np.full(5, np.nan)) == rate.of_clients(MOMENTS[0], SCORES)


@pytest.mark.parametrize("steps", [1, 3, 50])
@pytest.mark.parametrize("work", WORKS, ids=repr)
def test_whole_steps_at_least_one_and_no_more_for_the_slower(work, steps):
    before = SECONDS.copy()
    counts = work.of(steps, SECONDS)
    assert np.issubdtype(counts.dtype, np.integer)
    assert len(counts) == len(SECONDS)
    assert counts.min() >= 1
    assert (np.diff(counts[np.argsort(SECONDS)]) <= 0).all()
    assert (work.of(steps, np.full(4, 0.2)) == steps).all()
    assert (before == SECONDS).all()
    order = np.array([3, 1, 4, 0, 2])
    assert (work.of(steps, SECONDS[order]) == counts[order]).all()


@pytest.mark.parametrize("work", [DeviceSteps(), Hurried()], ids=repr)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_work_by_device_refuses_a_speed_that_is_not_finite(work, bad):
    with pytest.raises(ValueError, match="not finite"):
        work.of(5, np.array([0.1, bad]))


@pytest.mark.parametrize(
    ("part", "field"),
    [
        (SharedRate(start=0.0), "start"),
        (SharedRate(decay=1.5), "decay"),
        (ScoreRate(start=float("nan")), "start"),
        (ScoreRate(cap=0.0), "cap"),
        (CosineRate(horizon=0.0), "horizon"),
    ],
)
def test_bounds(part, field):
    with pytest.raises(FieldError) as error:
        check(part)
    assert error.value.name == field


@pytest.mark.parametrize("part", [SharedRate(), ScoreRate(), CosineRate(), EqualSteps(), DeviceSteps()], ids=repr)
def test_the_defaults_are_allowed_and_every_setting_has_its_sentence(part):
    check(part)
    assert all(one.meaning for one in declared(type(part)).values())
