"""The model on its way to a client: whole, or as the coded steps that the client lacks.

A client that fetches steps keeps the model in a file beside its memory. Server and client agree by a checksum of all
parameters: one that cannot get to the server's model by the steps it was sent (its file is lost, the server fell back
to an earlier round, or the steps were damaged on their way) says so, and is sent the whole model.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import torch
from flwr.app import ArrayRecord, ConfigRecord, RecordDict
from torch import Tensor

from heteroselect.core.flat import Weights
from heteroselect.core.state import PartState
from heteroselect.engines.flower.memory import Memory
from heteroselect.engines.flower.records import (
    MODEL,
    RecordError,
    from_array,
    from_bytes,
    from_record,
    to_array,
    to_bytes,
    to_record,
)
from heteroselect.parts.compress.wire import WireError, decode

LACKS, STEPS, WAY = "lacks", "steps", "way"


class LacksModelError(Exception):
    """A client that cannot get to the server's model by the steps it was sent."""


@dataclass(frozen=True)
class Way:
    """Which model goes down: that after `round`, with this checksum; by steps of these lengths from the model after
    `since`, or whole (−1)."""

    round: int
    check: int
    since: int = -1
    lengths: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Down:
    """What the server sends of a model, and of what goes with it; what several clients get is packed once."""

    weights: Weights
    shared: PartState | None = None

    def to(
        self, client: int, *, there: int | None = None, whole: bool = False
    ) -> dict[str, ArrayRecord | ConfigRecord]:
        """`there` is the round of the last model that the client answered a message with."""
        trail = self.weights.trail
        if trail is None:
            return {MODEL: self._whole}
        steps = None if whole else () if there == trail.round else trail.steps(client)
        if steps is None:
            return {MODEL: self._whole, WAY: to_record(Way(trail.round, self._check))}
        way = Way(trail.round, self._check, trail.round - len(steps), [len(one) for one in steps])
        return {MODEL: self._beside, WAY: to_record(way), STEPS: to_array(b"".join(steps))}

    @cached_property
    def _whole(self) -> ArrayRecord:
        return to_array(to_bytes(self.weights, self.shared))

    @cached_property
    def _beside(self) -> ArrayRecord:
        return to_array(to_bytes(Weights(torch.empty(0), self.weights.buffers), self.shared))

    @cached_property
    def _check(self) -> int:
        return check(self.weights.vector)


def received(content: RecordDict, memory: Memory, start: Weights | None) -> tuple[Weights, PartState]:
    """The model that a message brings, and what goes with it, or LacksModelError; `start` is the initial model, where
    the client knows it."""
    if WAY not in content and STEPS not in content:
        return from_bytes(from_array(content, MODEL))
    try:
        weights, shared = from_bytes(from_array(content, MODEL))
        way = from_record(Way, content, record=WAY)
        steps = from_array(content, STEPS) if way.since >= 0 else b""
    except RecordError as error:  # damaged on its way: the server has it still
        raise LacksModelError from error
    vectors = _walked(way, steps, memory, start) if way.since >= 0 else iter([weights.vector])
    vector = next((one for one in vectors if check(one) == way.check), None)
    if vector is None:
        raise LacksModelError
    memory.keep_model(way.round, vector.numpy())  # from now on
    return Weights(vector, weights.buffers), shared


def _walked(way: Way, steps: bytes, memory: Memory, start: Weights | None) -> Iterator[Tensor]:
    """Where the steps lead from each model that the client has and that is not beyond the server's."""
    if len(way.lengths) != way.round - way.since:
        return  # the model would be kept under the name of a round that it is not of
    kept = memory.model()
    known = [(kept[0], torch.from_numpy(kept[1]))] if kept else []
    for round, vector in [*known, *([(0, start.vector)] if start else [])]:
        if not way.since <= round <= way.round:
            continue
        at = sum(way.lengths[: round - way.since])
        try:
            for length in way.lengths[round - way.since :]:
                if length:
                    vector = vector + torch.from_numpy(decode(steps[at : at + length], len(vector)).dense())
                at += length
        except WireError:
            continue  # damaged, or steps of a model of another size: there may be another one to start from
        yield vector


def check(vector: Tensor) -> int:
    return zlib.crc32(vector.numpy().tobytes())
