"""What every server step promises."""

import numpy as np

from contracts.found import bits, each, stored
from heteroselect.parts.aggregate import LookAhead, Running, ServerMomentum, ServerSGD

EACH = each("server_optimizer", ServerSGD(0.3), ServerMomentum(0.9, rate=0.1), LookAhead(0.5, rate=0.3), Running(0.5))


@EACH
def test_nothing_from_nothing(part):
    _, step = part.step({}, np.zeros(5, np.float32))
    assert step.dtype == np.float32
    assert step.tolist() == [0] * 5


@EACH
def test_a_step_changes_nothing_in_place_and_a_state_that_was_written_goes_on_the_same(part):
    state = {}
    for seed in range(4):
        aggregate = np.random.default_rng(seed).standard_normal(50).astype(np.float32)
        before = bits([aggregate, state])
        new, step = part.step(state, aggregate)
        assert bits(part.step(stored(state), aggregate)) == bits((new, step))
        assert bits([aggregate, state]) == before
        assert (step.dtype, step.shape) == (np.float32, aggregate.shape)
        assert np.isfinite(step).all()
        state = new
