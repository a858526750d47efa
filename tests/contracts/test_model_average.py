"""What every average of the server's models promises."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from contracts.found import bits, each, stored
from heteroselect.core.moment import Moment
from heteroselect.parts.aggregate import ExponentialAverage

EACH = each("model_average", ExponentialAverage(0.5))
ROUNDS = 6


def models(count=ROUNDS, size=20):
    rng = np.random.default_rng(5)
    return [rng.standard_normal(size).astype(np.float32) for _ in range(count)]


def after(part, some):
    state = {}
    for t, model in enumerate(some, start=1):
        state = part.add(state, model, Moment(t, ROUNDS))
    return state


@EACH
def test_before_the_first_round_the_model_is_shown_and_of_equal_models_that_model(part):
    (model,) = models(1)
    assert part.mean({}, model) is model
    for count in range(1, ROUNDS + 1):
        assert_allclose(part.mean(after(part, [model] * count), model), model, rtol=1e-6)


@EACH
def test_it_stays_between_the_smallest_and_the_largest_in_single_precision(part):
    some = models()
    for count in range(1, ROUNDS + 1):
        found = part.mean(after(part, some[:count]), some[count - 1])
        assert (found.dtype, found.shape) == (np.float32, some[0].shape)
        seen = np.stack(some[:count])
        assert (found >= seen.min(0) - 1e-6).all()
        assert (found <= seen.max(0) + 1e-6).all()


@EACH
def test_neither_state_nor_model_is_changed_and_the_state_can_be_written(part):
    state = {}
    for t, model in enumerate(models(), start=1):
        before = bits([model, state])
        new = part.add(state, model, Moment(t, ROUNDS))
        assert bits([model, state]) == before
        state = stored(new)
        model += 1  # whoever owns the model may go on with it
        assert bits(new) == bits(state)
    last = models()[-1]
    assert_array_equal(part.mean(state, last), part.mean(after(part, models()), last))


@EACH
def test_its_memory_does_not_grow(part):
    some = models()
    sizes = [sum(array.nbytes for array in after(part, some[:count]).values()) for count in (ROUNDS - 1, ROUNDS)]
    assert sizes[0] == sizes[1] <= 2 * some[0].nbytes + 8
