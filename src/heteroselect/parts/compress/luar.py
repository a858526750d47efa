"""Recycled tensors: FedLUAR (Kim, Kang, Lee, "Layer-wise update aggregation with recycling for communication-efficient
federated learning", NeurIPS 2025).

A weight tensor whose update is short beside its weights moves little. The server draws some of these, nobody sends
them, and the model takes their last aggregate once more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values, finite, norm
from heteroselect.parts.compress.context import FORGETS, CompressContext

if TYPE_CHECKING:
    from heteroselect.core.flat import Span


@dataclass(frozen=True)
class Luar:
    """Sends everything but the tensors that the server named. Only parameters of two or more dimensions are ever named,
    and never all of them. A client that kept what it did not send would send it on top of what was recycled.

    Its state at the server: the last aggregate (`update`), the `scores` ‖u‖/‖w‖ of all tensors as of the round in which
    each was sent last, the tensors `recycled` next, and the `share` of an update that is sent then.

    Use when some layers hardly move and their last step can be used again. Beware: it saves whole tensors only, and
    goes without an error memory.
    """

    kind: ClassVar[str] = "fedluar"
    traits = Traits(brings={"error_feedback": FORGETS}, uses_density=False, takes_memory=False)

    recycled: float = setting(
        0.5,
        "share of the weight tensors that is recycled each round, rounded down",
        ge=0,
        le=1,
        tune=(0.1, 0.9, "linear"),
    )

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        sent, tensors = np.ones(finite(v).size, bool), context.model.layout.tensors
        for place in context.told.get("recycled", ()):
            sent[tensors[place].slice] = False
        return Update.keep(v, np.flatnonzero(sent)), {}

    def told(self, state: PartState) -> PartState:
        return {"recycled": state["recycled"]} if "recycled" in state and len(state["recycled"]) else {}

    def share(self, state: PartState) -> float:
        return float(state.get("share", 1.0))

    def complete(
        self,
        state: PartState,
        aggregate: Values,
        weights: Values,
        tensors: "Sequence[Span]",
        rng: np.random.Generator,
    ) -> tuple[PartState, Values]:
        """Last time's update for each tensor that nobody sent; then whom to recycle next, P ∝ ‖w‖/‖u‖."""
        whole = aggregate.copy()
        scores = state["scores"].copy() if "scores" in state else np.zeros(len(tensors))
        recycled = set(state["recycled"].tolist()) if "recycled" in state else set()
        for place, tensor in enumerate(tensors):
            if place in recycled:
                whole[tensor.slice] = state["update"][tensor.slice]
            else:
                scores[place] = norm(whole[tensor.slice]) / (norm(weights[tensor.slice]) + 1e-6)
        count = max(0, min(int(self.recycled * len(tensors)), len(tensors) - 1))
        drawn = drawn_by_inverse(scores, count, rng)
        share = 1 - sum(len(tensors[place]) for place in drawn) / whole.size
        return {"update": whole, "scores": scores, "recycled": drawn, "share": np.array(share)}, whole


def drawn_by_inverse(scores: Reals, count: int, rng: np.random.Generator) -> Counts:
    """So many distinct places, rising, one after the other with probability ∝ 1/score (by Gumbel noise)."""
    noisy = rng.gumbel(size=len(scores)) - np.log(np.maximum(scores, 1e-12))
    return np.sort(np.argsort(-noisy, kind="stable")[:count])
