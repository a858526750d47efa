"""What every server step promises."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from heteroselect.core.part import check, setting
from heteroselect.core.state import by_role, flat
from heteroselect.parts.aggregate import Adaptive, LookAhead, Majority, Running, ServerMomentum, ServerSGD


@dataclass(frozen=True)
class Capped:
    """A user's own: no step is longer than a bound; it counts those that would have been."""

    kind: ClassVar[str] = "capped"
    bound: float = setting(1.0, "longest step", gt=0)

    def step(self, state, aggregate):
        length = float(np.linalg.norm(aggregate))
        cut = min(1.0, self.bound / length) if length else 1.0
        return {"cut": state.get("cut", np.zeros(1)) + (cut < 1)}, np.float32(cut) * aggregate


ALL = [
    ServerSGD(),
    ServerSGD(0.3),
    ServerMomentum(),
    ServerMomentum(0.9, rate=0.1),
    LookAhead(),
    LookAhead(0.5, rate=0.3),
    *(Adaptive(rule) for rule in ("adagrad", "adam", "yogi")),
    Running(),
    Running(0.5),
    Majority(),
    Capped(),
]


def aggregates(count=4, size=50):
    rng = np.random.default_rng(3)
    return [rng.standard_normal(size).astype(np.float32) for _ in range(count)]


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_nothing_from_nothing(part):
    check(part)
    _, step = part.step({}, np.zeros(5, np.float32))
    assert step.dtype == np.float32
    assert_array_equal(step, np.zeros(5))


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_a_step_changes_neither_its_state_nor_the_aggregate(part):
    state = {}
    for aggregate in aggregates():
        before = aggregate.copy(), {name: array.copy() for name, array in state.items()}
        new, step = part.step(state, aggregate)
        again, same = part.step(state, aggregate)
        assert_array_equal(aggregate, before[0])
        assert {name: array.tolist() for name, array in state.items()} == {k: v.tolist() for k, v in before[1].items()}
        assert step.tobytes() == same.tobytes()
        assert (step.dtype, step.shape) == (np.float32, aggregate.shape)
        assert np.isfinite(step).all()
        assert new.keys() == again.keys()
        state = new


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_a_state_that_was_written_and_read_goes_on_the_same(part):
    first, second, third, _ = aggregates()
    state, _ = part.step(part.step({}, first)[0], second)
    written = by_role({name: array.copy() for name, array in flat({"server_optimizer": state}).items()}).get(
        "server_optimizer", {}
    )
    assert part.step(written, third)[1].tobytes() == part.step(state, third)[1].tobytes()
