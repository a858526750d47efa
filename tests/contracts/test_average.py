"""What every average of the server's models promises."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heteroselect.core.moment import Moment
from heteroselect.core.part import check
from heteroselect.core.state import by_role, flat
from heteroselect.parts.aggregate import ExponentialAverage, NoAverage, TailAverage
from heteroselect.parts.kinds import KINDS


@dataclass(frozen=True)
class Second:
    """A user's own: the model before the last one."""

    kind: ClassVar[str] = "second"

    def add(self, state, model, moment):
        return {"last": model.copy(), "before": state.get("last", model).copy()}

    def mean(self, state, model):
        return state.get("before", model)


ALL = [
    NoAverage(),
    ExponentialAverage(),
    ExponentialAverage(0.5),
    ExponentialAverage(0.0),
    TailAverage(),
    TailAverage(1.0),
    Second(),
]
ROUNDS = 6


def models(count=ROUNDS, size=20):
    rng = np.random.default_rng(5)
    return [rng.standard_normal(size).astype(np.float32) for _ in range(count)]


def after(part, some, rounds=ROUNDS):
    state = {}
    for t, model in enumerate(some, start=1):
        state = part.add(state, model, Moment(t, rounds))
    return state


def test_every_kind_is_here():
    assert {type(part) for part in ALL} >= set(KINDS["model_average"].values())


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_before_the_first_round_the_model_is_shown(part):
    check(part)
    (model,) = models(1)
    assert part.mean({}, model) is model


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_of_equal_models_the_average_is_that_model(part):
    (model,) = models(1)
    for count in range(1, ROUNDS + 1):
        assert_allclose(part.mean(after(part, [model] * count), model), model, rtol=1e-6)


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_it_stays_between_the_smallest_and_the_largest_in_single_precision(part):
    some = models()
    for count in range(1, ROUNDS + 1):
        found = part.mean(after(part, some[:count]), some[count - 1])
        assert (found.dtype, found.shape) == (np.float32, some[0].shape)
        seen = np.stack(some[:count])
        assert (found >= seen.min(0) - 1e-6).all()
        assert (found <= seen.max(0) + 1e-6).all()


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_neither_state_nor_model_is_changed_and_the_state_can_be_written(part):
    some = models()
    state = {}
    for t, model in enumerate(some, start=1):
        before = model.copy(), {name: array.tobytes() for name, array in state.items()}
        new = part.add(state, model, Moment(t, ROUNDS))
        seen = {name: array.tobytes() for name, array in new.items()}
        model += 1  # whoever owns the model may go on with it
        assert {name: array.tobytes() for name, array in new.items()} == seen
        assert {name: array.tobytes() for name, array in state.items()} == before[1]
        model[:] = before[0]
        state = by_role({name: array.copy() for name, array in flat({"model_average": new}).items()}).get(
            "model_average", {}
        )
        assert {name: array.tobytes() for name, array in state.items()} == {n: a.tobytes() for n, a in new.items()}
    assert_array_equal(part.mean(state, some[-1]), part.mean(after(part, models()), some[-1]))


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_its_memory_does_not_grow(part):
    some = models()
    sizes = [sum(array.nbytes for array in after(part, some[:count]).values()) for count in (ROUNDS - 1, ROUNDS)]
    assert sizes[0] == sizes[1] <= 2 * some[0].nbytes + 8
