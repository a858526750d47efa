"""Sparse ternary compression: the largest coordinates, one bit and one common size (Sattler et al., TNNLS 2020)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values
from heteroselect.parts.compress.codecs.grid import Grid
from heteroselect.parts.compress.context import WITHOUT_DECAY, CompressContext, uniform
from heteroselect.parts.compress.topk import ROUNDING, Rounding, kept_count, top_positions


@dataclass(frozen=True)
class STC:
    """Sends μ·sign(v_i) for the κ largest, μ their mean magnitude (Sattler et al., TNNLS 2020); wants an error memory.

    A zero has no sign: where fewer than κ coordinates differ from it, only those are sent.

    Use when uploads are to be smallest and a memory keeps the rest. Beware: it is biased, so that the error memory is
    needed.
    """

    kind: ClassVar[str] = "stc"
    traits = Traits(
        brings={"error_feedback": WITHOUT_DECAY, "allocate": uniform(0.01)}, own_values=True, keeps_density=True
    )

    rounding: Rounding = setting("floor", ROUNDING)

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        largest = top_positions(np.abs(v), kept_count(density, v.size, self.rounding))
        positions = largest[v[largest] != 0]
        kept = v[positions]
        filled = min(kept.size, 1)  # buckets
        mean = np.abs(kept).sum(dtype=np.float64) / max(kept.size, 1)
        coded = Grid(
            (kept > 0).astype(np.uint8),
            np.full(filled, mean, np.float32),
            np.full(filled, kept.size, np.int64),
            steps=1,
        )
        return Update(v.size, positions, coded.values(), coded), {}
