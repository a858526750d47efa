"""What every way down promises."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from contracts.found import bits, each, stored
from heteroselect import methods
from heteroselect.parts.compress import STC, CodedSteps, Drive, Ternary, TopK
from heteroselect.parts.compress.wire import decode

CLIENTS, SIZE, ROUNDS = 5, 400, 6


EACH = each("downlink", *(CodedSteps(coder, 0.2) for coder in ("topk", "stc", "drive", "ternary")))


def steps(count=ROUNDS):
    """One round in three nobody answers."""
    rng = np.random.default_rng(7)
    return [None if t % 3 == 2 else rng.standard_normal(SIZE).astype(np.float32) for t in range(count)]


def walk(part, some):
    """State, model and decoded step after each round, from zero; in round t client t − 1 has got the one before."""
    state, model, found = {}, np.zeros(SIZE, np.float32), []
    for t, step in enumerate(some, start=1):
        state = part.fetched(state, np.array([(t - 1) % CLIENTS]), t - 1, CLIENTS)
        state, taken = part.code(state, step, [100, SIZE], np.random.default_rng(t))
        model = model if taken is None else model + taken
        found.append((state, model, taken))
    return found


@pytest.mark.parametrize("coder", [Drive(), Ternary(), STC(rounding="ceil"), TopK()], ids=lambda part: part.kind)
def test_a_step_is_coded_by_the_compressor_of_that_name_at_the_density_that_is_set(coder):
    step = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)
    _, taken = CodedSteps(coder.kind, 0.3).code({}, step, [SIZE], np.random.default_rng(5))
    sent, _ = coder.compress(step, 0.3, SimpleNamespace(rng=np.random.default_rng(5)))
    assert_array_equal(taken, sent.dense())


def test_stc_rounds_up_downwards_as_its_method_does_upwards():
    """A density of 1/100 keeps 3 of 201 coordinates, not 2."""
    step = np.random.default_rng(0).standard_normal(201).astype(np.float32)
    _, taken = CodedSteps("stc", 0.01).code({}, step, [201], np.random.default_rng(0))
    assert np.count_nonzero(taken) == 3
    assert methods.get("stc").compress.rounding == "ceil"


@EACH
def test_a_step_is_of_the_models_size_and_no_step_is_none(part):
    for step, (_, _, taken) in zip(steps(), walk(part, steps()), strict=True):
        assert (step is None) == (taken is None)
        if taken is not None:
            assert (taken.dtype, taken.shape) == (np.float32, (SIZE,))
            assert np.isfinite(taken).all()
            assert float(taken @ step) > 0


@EACH
def test_who_takes_the_steps_of_the_trail_has_the_model_to_the_bit(part):
    found = walk(part, steps())
    models = [np.zeros(SIZE, np.float32), *(model for _, model, _ in found)]
    for t, (state, model, _) in enumerate(found, start=1):
        trail = part.trail(state, t, CLIENTS, SIZE)
        if trail is None:
            continue
        costs = trail.bytes()
        for client in range(CLIENTS):
            payloads, context = trail.steps(client), models[trail.has[client]]
            if payloads is None:
                assert costs[client] == trail.whole == 4 * SIZE
                continue
            assert costs[client] == sum(map(len, payloads)) < trail.whole
            for payload in payloads:
                context = context + decode(payload, SIZE).dense() if payload else context
            assert_array_equal(context.view(np.int32), model.view(np.int32))


@EACH
def test_nothing_is_changed_in_place_and_a_state_that_was_written_goes_on_the_same(part):
    state, _, _ = walk(part, steps())[-1]
    before, step, written = bits(state), steps()[0], stored(state)
    for ids in (np.array([0, 3]), np.array([1])):
        assert bits(part.fetched(written, ids, 6, CLIENTS)) == bits(part.fetched(state, ids, 6, CLIENTS))
    one, other = (part.code(kept, step, [100, SIZE], np.random.default_rng(1)) for kept in (state, written))
    assert bits(one) == bits(other)
    assert bits(state) == before
    assert bits(step) == bits(steps()[0])


@EACH
def test_what_the_server_keeps_is_bounded(part):
    state = walk(part, steps(60))[-1][0]
    assert sum(array.nbytes for array in state.values()) <= 2 * 4 * SIZE + 8 * (CLIENTS + 60)
    assert "payloads" not in state or state["payloads"].nbytes < 4 * SIZE


@EACH
def test_nothing_is_lost_for_good_where_a_memory_is_kept(part):
    """The model and what the memory holds are the sum of all steps."""
    some = steps()
    state, model, _ = walk(part, some)[-1]
    if "residual" in state:
        total = np.sum([step for step in some if step is not None], 0)
        np.testing.assert_allclose(model + state["residual"], total, rtol=1e-4, atol=1e-5)
