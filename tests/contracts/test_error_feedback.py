"""What every memory promises, shipped or a user's own: inputs left alone, state that is a checkpoint, what is not
finite refused, and that nothing is lost which it says it keeps."""

from typing import Any

import numpy as np
import pytest

from compressing import array, normal
from contracts.found import bits, each, stored
from heteroselect.core.part import FieldError
from heteroselect.core.traits import traits_of
from heteroselect.parts.compress import ErrorMemory, MomentumMemory, PartState, TopK, Update
from heteroselect.parts.compress.topk import top_positions

ALL_KEPT = ErrorMemory("static", static=1.0)
EACH = each("error_feedback", ALL_KEPT, ErrorMemory(minimum=0.5, maximum=0.9))


def largest(v: np.ndarray, kept: int = 5) -> Update:
    return Update.keep(v, top_positions(np.abs(v), kept))


def rounds(part: Any, count: int = 4, detour: bool = False) -> tuple[list[Update], PartState]:
    """What is sent in some rounds, of which the third is lost, and what is kept after them."""
    kept, sent = {}, []
    for number in range(count):
        v, offered = part.offer(normal(40, number), kept)
        sent.append(largest(v))
        kept = part.update_state(offered, None if number == 2 else sent[-1], part.beta(0.2))
        if detour:
            kept = stored(kept)
    return sent, kept


@EACH
def test_it_keeps_what_its_declarations_say(part: Any) -> None:
    assert all(0 <= part.beta(theta) <= 1 for theta in (0.0, 0.12, 0.5, 1.0))
    assert bool(rounds(part)[1]) == traits_of(part).keeps


@EACH
def test_what_it_keeps_comes_back_from_a_checkpoint(part: Any) -> None:
    """Also read-only, as the arrays of the detour are."""
    assert bits(rounds(part)) == bits(rounds(part, detour=True))


@EACH
def test_what_it_is_given_is_left_alone(part: Any) -> None:
    _, kept = rounds(part)
    delta = normal(40, 9)
    delta.setflags(write=False)
    before = bits(kept)
    v, offered = part.offer(delta, kept)
    given = bits(offered)
    part.update_state(offered, largest(v), 0.5)
    assert (bits(kept), bits(offered), bits(delta)) == (before, given, bits(normal(40, 9)))


@EACH
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(part: Any, bad: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        part.offer(array(1, bad), {})


@EACH
def test_without_anything_kept_the_update_is_offered_as_it_is(part: Any) -> None:
    assert part.offer(normal(40), {})[0].tolist() == normal(40).tolist()


@EACH
def test_an_upload_that_was_lost_costs_nothing(part: Any) -> None:
    """What is offered after it holds the lost one too, unless nothing is ever kept."""
    if isinstance(part, MomentumMemory) and part.momentum:
        pytest.skip("its velocity goes on: by hand in tests/parts/compress/test_memory.py")
    _, offered = part.offer(normal(40), {})
    v, _ = part.offer(np.zeros(40, np.float32), part.update_state(offered, None, 0.5))
    expected = normal(40) if traits_of(part).keeps and part.kind != "ef21" else np.zeros(40)
    assert v.tolist() == expected.tolist()


@pytest.mark.parametrize("part", [ALL_KEPT, MomentumMemory(0.0)], ids=lambda part: part.kind)
@pytest.mark.parametrize("lost", [(), (3, 4, 11)])
def test_at_beta_one_what_arrived_and_what_waits_make_the_whole(part: Any, lost: tuple[int, ...]) -> None:
    deltas = np.random.default_rng(3).standard_normal((20, 50)).astype(np.float32)
    kept, arrived = {}, np.zeros(50)
    for turn, delta in enumerate(deltas):
        v, offered = part.offer(delta, kept)
        update = TopK().compress(v, 0.14, None)[0]
        kept = part.update_state(offered, None if turn in lost else update, 1.0)
        if turn not in lost:
            arrived += update.dense()
    waiting = part.offer(np.zeros(50, np.float32), kept)[0]
    assert np.allclose(arrived + waiting, deltas.sum(0, dtype=np.float64), atol=1e-5)


def test_the_least_decay_is_at_most_the_largest() -> None:
    with pytest.raises(FieldError, match="minimum: allowed is at most the maximum"):
        ErrorMemory(minimum=0.9, maximum=0.8)
