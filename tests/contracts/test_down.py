"""What every way down promises."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from heteroselect import methods
from heteroselect.core.part import check
from heteroselect.core.state import by_role, flat
from heteroselect.parts.compress import STC, CodedSteps, Drive, Ternary, TopK, WholeModel
from heteroselect.parts.compress.wire import decode
from heteroselect.parts.kinds import KINDS

CLIENTS, SIZE, ROUNDS = 5, 400, 6


@dataclass(frozen=True)
class Halves:
    """A user's own: the model takes steps that are exact in half precision, and goes down whole."""

    kind: ClassVar[str] = "halves"

    def code(self, state, step, layers, rng):
        return {}, None if step is None else step.astype(np.float16).astype(np.float32)

    def fetched(self, state, ids, round, clients):
        return state

    def trail(self, state, round, clients, size):
        return None


ALL = [
    WholeModel(),
    CodedSteps(),
    CodedSteps("topk", 0.2),
    CodedSteps("stc", 0.2),
    CodedSteps("drive", 0.5),
    CodedSteps("ternary", 0.5),
    Halves(),
]
each = pytest.mark.parametrize("part", ALL, ids=repr)


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


def test_every_kind_is_here():
    assert {type(part) for part in ALL} >= set(KINDS["downlink"].values())


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


@each
def test_a_step_is_of_the_models_size_and_no_step_is_none(part):
    check(part)
    for step, (_, _, taken) in zip(steps(), walk(part, steps()), strict=True):
        assert (step is None) == (taken is None)
        if taken is not None:
            assert (taken.dtype, taken.shape) == (np.float32, (SIZE,))
            assert np.isfinite(taken).all()
            assert float(taken @ step) > 0


@each
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


@each
def test_nothing_is_changed_in_place_and_a_state_that_was_written_goes_on_the_same(part):
    state, _, _ = walk(part, steps())[-1]
    before = {name: array.tobytes() for name, array in state.items()}
    written = by_role({name: array.copy() for name, array in flat({"downlink": state}).items()}).get("downlink", {})
    (step, *_), layers = steps(), [100, SIZE]
    for ids in ([0, 3], [1]):
        new = part.fetched(state, np.array(ids), 6, CLIENTS)
        assert sorted(new) == sorted(part.fetched(written, np.array(ids), 6, CLIENTS))
    first, taken = part.code(state, step, layers, np.random.default_rng(1))
    again, same = part.code(written, step, layers, np.random.default_rng(1))
    assert taken.tobytes() == same.tobytes()
    assert {n: a.tobytes() for n, a in first.items()} == {n: a.tobytes() for n, a in again.items()}
    assert {name: array.tobytes() for name, array in state.items()} == before


@each
def test_what_the_server_keeps_is_bounded(part):
    state = walk(part, steps(60))[-1][0]
    assert sum(array.nbytes for array in state.values()) <= 2 * 4 * SIZE + 8 * (CLIENTS + 60)
    assert "payloads" not in state or state["payloads"].nbytes < 4 * SIZE


@each
def test_nothing_is_lost_for_good_where_a_memory_is_kept(part):
    """The model and what the memory holds are the sum of all steps."""
    some = steps()
    state, model, _ = walk(part, some)[-1]
    if "residual" in state:
        total = np.sum([step for step in some if step is not None], 0)
        np.testing.assert_allclose(model + state["residual"], total, rtol=1e-4, atol=1e-5)
