"""What every memory promises, shipped or a user's own: inputs left alone, state that is a checkpoint, what is not
finite refused, and that nothing is lost which it says it keeps."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from compressing import array, assert_equal, normal
from heteroselect.core.part import FieldError, check
from heteroselect.core.state import by_role, flat
from heteroselect.core.traits import Traits, traits_of
from heteroselect.parts.compress import EF21, MEMORIES, ErrorMemory, MomentumMemory, NoMemory, PartState, TopK, Update
from heteroselect.parts.compress.topk import top_positions


@dataclass(frozen=True)
class Sum:
    """A user's own: the sum of all there was, and the sum of all that was sent."""

    kind: ClassVar[str] = "sum"
    traits = Traits(keeps=True)

    def beta(self, theta: float) -> float:
        return 1.0

    def offer(self, delta: np.ndarray, kept: PartState) -> tuple[np.ndarray, PartState]:
        if not np.isfinite(delta).all():
            raise ValueError("a coordinate is not finite")
        learnt = kept["learnt"] + delta if kept else delta
        sent = kept.get("sent", np.zeros_like(delta))
        return learnt - sent, {"learnt": learnt, "sent": sent}

    def update_state(self, kept: PartState, sent: Update | None, beta: float) -> PartState:
        if sent is None:
            return kept
        return {"learnt": kept["learnt"], "sent": kept["sent"] + sent.dense()}


PARTS: list[Any] = [
    NoMemory(),
    ErrorMemory(),
    ErrorMemory("static", static=1.0),
    ErrorMemory(minimum=0.5, maximum=0.9),
    EF21(),
    MomentumMemory(),
    MomentumMemory(0.0),
    Sum(),
]
EACH = pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part)[:60])
WITHOUT_LOSS = [ErrorMemory("static", static=1.0), MomentumMemory(0.0), Sum()]


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
            names = flat({"error_feedback": kept})
            kept = by_role({n: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape) for n, a in names.items()})
            kept = kept.get("error_feedback", {})
    return sent, kept


def test_every_kind_is_here() -> None:
    assert {type(part) for part in PARTS} == {*MEMORIES, Sum}
    assert len({kind.kind for kind in MEMORIES}) == len(MEMORIES)


@EACH
def test_its_declarations_hold_together(part: Any) -> None:
    check(part)
    assert all(0 <= part.beta(theta) <= 1 for theta in (0.0, 0.12, 0.5, 1.0))
    assert bool(rounds(part)[1]) == traits_of(part).keeps


@EACH
def test_what_it_keeps_comes_back_from_a_checkpoint(part: Any) -> None:
    """Also read-only, as the arrays of the detour are."""
    (sent, kept), (again, stored) = rounds(part), rounds(part, detour=True)
    assert [one.dense().tolist() for one in sent] == [one.dense().tolist() for one in again]
    assert_equal(dict(kept), {name: stored[name] for name in kept})


@EACH
def test_what_it_is_given_is_left_alone(part: Any) -> None:
    _, kept = rounds(part)
    delta = normal(40, 9)
    delta.setflags(write=False)
    v, offered = part.offer(delta, kept)
    before = {name: values.copy() for name, values in {**kept, **offered}.items()}
    part.update_state(offered, largest(v), 0.5)
    assert all(np.array_equal(before[name], {**kept, **offered}[name]) for name in before)
    assert delta.tolist() == normal(40, 9).tolist()


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


@pytest.mark.parametrize("part", WITHOUT_LOSS, ids=lambda part: part.kind)
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
