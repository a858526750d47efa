"""Sparse ternary compression: the largest coordinates, one bit and one common size (Sattler et al., TNNLS 2020)."""

from dataclasses import dataclass

import numpy as np

from heteroselect.compress.curvature import Scene
from heteroselect.compress.topk import Rounding, kept_count, top_positions
from heteroselect.compress.update import Update, Values
from heteroselect.compress.values import Coded


@dataclass(frozen=True)
class STC:
    """μ·sign(v_i) for the κ largest, μ their mean magnitude (Sattler et al., TNNLS 2020); wants an error memory.

    A zero has no sign: where fewer than κ coordinates differ from it, only those are sent.
    """

    rounding: Rounding = "floor"

    def compress(self, v: Values, density: float, scene: Scene) -> Update:
        largest = top_positions(np.abs(v), kept_count(density, v.size, self.rounding))
        positions = largest[v[largest] != 0]
        kept = v[positions]
        filled = min(kept.size, 1)  # buckets
        mean = np.abs(kept).sum(dtype=np.float64) / max(kept.size, 1)
        coded = Coded(
            "grid",
            (kept > 0).astype(np.uint8),
            np.full(filled, mean, np.float32),
            np.full(filled, kept.size, np.int64),
            steps=1,
        )
        return Update(v.size, positions, coded.values(), coded)
