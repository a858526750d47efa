"""How the model gets to clients: whole, or as the coded steps that each client lacks.

A client that keeps the model from one participation to the next does not have to fetch it again. The server codes each
of its steps once, for everybody, and takes the decoded step itself: the model *is* the sum of its coded steps, and
whoever takes the same steps has the same bits. The idea, a memory at the server for what the coder lost, and clients
that catch up with what they missed, are those of sparse ternary compression (Sattler, Wiedemann, Müller, Samek,
"Robust and communication-efficient federated learning from non-i.i.d. data", TNNLS 2020). They send the sum of the
steps missed; here the steps themselves are sent, so that the server keeps the payloads it has and codes nothing anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from heteroselect.core.arrays import Counts
from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.trail import DownlinkHistory
from heteroselect.core.traits import traits_of
from heteroselect.core.update import Values
from heteroselect.parts.compress.context import CompressContext
from heteroselect.parts.compress.drive import Drive
from heteroselect.parts.compress.stc import STC
from heteroselect.parts.compress.ternary import Ternary
from heteroselect.parts.compress.topk import TopK

_CODERS: dict[str, Any] = {"drive": Drive(), "ternary": Ternary(), "stc": STC(rounding="ceil"), "topk": TopK()}


@dataclass(frozen=True)
class WholeModel:
    """Lets everybody fetch the whole model whenever it takes part.

    Use when downloads are cheap beside uploads. Beware: downloads are most of the bytes once uploads are compressed.
    """

    kind: ClassVar[str] = "model"

    def code(
        self, state: PartState, step: Values | None, layers: Sequence[int], rng: np.random.Generator
    ) -> tuple[PartState, Values | None]:
        return {}, step

    def fetched(self, state: PartState, ids: Counts, round: int, clients: int) -> PartState:
        return {}

    def trail(self, state: PartState, round: int, clients: int, size: int) -> DownlinkHistory | None:
        return None


@dataclass(frozen=True)
class CodedSteps:
    """Lets clients fetch the coded steps since the model that they have, or the whole model where that is smaller. The
    initial model follows from the seed and costs nothing.

    An unbiased coder (drive, ternary) needs no memory. With a biased one (stc, topk) the server remembers what was
    lost, e, and codes step + e. Either way what a coder does to a step is done to everybody's model: there is no mean
    over clients to take its noise away, as on the way up. The server keeps payloads of less than one model in all:
    beyond that nobody would fetch them.

    Use when downloads cost as much as uploads. Beware: too few bits cost accuracy: what a coder does to a step is done
    to everybody's model.
    """

    kind: ClassVar[str] = "steps"

    coder: Literal["drive", "ternary", "stc", "topk"] = setting("drive", "compressor that codes the server's steps")
    density: float = setting(
        1.0, "share of the coordinates (drive: of the signs; ternary: bits per coordinate) that is sent", gt=0, le=1
    )

    def code(
        self, state: PartState, step: Values | None, layers: Sequence[int], rng: np.random.Generator
    ) -> tuple[PartState, Values | None]:
        """The new state, and the step as everybody will decode it; without a step a payload of no bytes."""
        if step is None:
            return {**state, "lengths": np.append(_lengths(state), 0)}, None
        from heteroselect.parts.compress.wire import (  # with the entropy coder, which settings do not need
            decode,
            encode,
        )

        coder, kept = _CODERS[self.coder], dict(state)
        v = step + state["residual"] if "residual" in state else step
        payload = encode(coder.compress(v, self.density, _context(rng))[0], layers)
        decoded = decode(payload, v.size).dense()
        if traits_of(coder).promises("takes_memory"):
            kept["residual"] = v - decoded
        lengths = np.append(_lengths(state), len(payload))
        lengths = lengths[np.cumsum(lengths[::-1])[::-1] < v.nbytes]
        payloads = np.concatenate([state.get("payloads", np.zeros(0, np.uint8)), np.frombuffer(payload, np.uint8)])
        kept |= {"lengths": lengths, "payloads": payloads[len(payloads) - lengths.sum() :]}
        return kept, decoded

    def fetched(self, state: PartState, ids: Counts, round: int, clients: int) -> PartState:
        """The state after these clients have got the model after `round`."""
        has = _has(state, clients).copy()
        has[ids] = round
        return {**state, "has": has}

    def trail(self, state: PartState, round: int, clients: int, size: int) -> DownlinkHistory:
        """What leads to the model after `round`."""
        ends = np.cumsum(_lengths(state))
        data = state["payloads"].tobytes() if "payloads" in state else b""
        payloads = tuple(data[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)) if len(ends) else ()
        return DownlinkHistory(round, payloads, _has(state, clients), 4 * size)


def _lengths(state: PartState) -> Counts:
    return state.get("lengths", np.zeros(0, np.int64))


def _has(state: PartState, clients: int) -> Counts:
    return state.get("has", np.zeros(clients, np.int64))


def _context(rng: np.random.Generator) -> CompressContext:
    """These coders look at nothing but the randomness: there is no batch at the server."""
    nothing: Any = None
    return CompressContext(model=nothing, loss=nothing, proximal=0.0, warmup=False, rng=rng, generator=nothing)
