"""One bit per coordinate: its sign (Bernstein et al., ICML 2018; Karimireddy et al., ICML 2019)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values, all_positions, finite
from heteroselect.parts.compress.codecs.grid import Grid
from heteroselect.parts.compress.context import FORGETS, WITHOUT_DECAY, CompressContext


@dataclass(frozen=True)
class Sign:
    """Sends the sign of every coordinate, times the mean magnitude of its layer (EF-signSGD; Karimireddy et al., ICML
    2019) or times one fixed `step` (signSGD; Bernstein et al., ICML 2018).

    Neither is without bias. With the mean the error is exactly (1 − φ)‖v‖² in each layer, φ = ‖v‖₁²/(N‖v‖²), and an
    error memory makes up for it. One bit has no room for a third sign: sign(0) = +1. The density is not looked at.

    Use when one bit per coordinate is the budget. Beware: without an error memory it may not converge; a fixed step
    needs a majority vote.
    """

    kind: ClassVar[str] = "sign"

    scale: Literal["mean", "step"] = setting(
        "mean", "size of a sign: a layer's mean magnitude (EF-signSGD), or a fixed step (signSGD)"
    )
    step: float = setting(1e-3, "size of a sign where scale is step", gt=0)

    @property
    def traits(self) -> Traits:
        """The error of a fixed step does not shrink with what is sent: a memory of it would grow without end."""
        mean = self.scale == "mean"
        majority = {"error_feedback": FORGETS, "server_optimizer": {"kind": "majority"}}
        brings = {"error_feedback": WITHOUT_DECAY} if mean else majority
        return Traits(brings=brings, own_values=True, uses_density=False, takes_memory=mean)

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        finite(v)
        if self.scale == "mean":
            ends = np.unique([end for end in context.model.layout.layer_ends if end > 0])
            starts = np.concatenate([[0], ends[:-1]])
            scales = np.add.reduceat(np.abs(v).astype(np.float64), starts) / (ends - starts)
        else:
            ends, scales = np.array([v.size]), np.array([self.step])
        coded = Grid((v >= 0).astype(np.uint8), scales.astype(np.float32), ends, steps=1)
        return Update(v.size, all_positions(v.size), coded.values(), coded), {}
