"""One bit a coordinate: its sign (Bernstein et al., ICML 2018; Karimireddy et al., ICML 2019)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.compress.curvature import Scene
from heteroselect.compress.update import Update, Values, all_positions
from heteroselect.compress.values import Coded


@dataclass(frozen=True)
class Sign:
    """The sign of every coordinate, times the mean magnitude of its layer (EF-signSGD; Karimireddy et al., ICML 2019)
    or times one fixed `step` (signSGD; Bernstein et al., ICML 2018).

    Neither is without bias. With the mean the error is exactly (1 − φ)‖v‖² in each layer, φ = ‖v‖₁²/(N‖v‖²), and an
    error memory makes up for it. One bit has no room for a third sign: sign(0) = +1. The density is not looked at.
    """

    scale: Literal["mean", "step"] = "mean"
    step: float = 1e-3

    def compress(self, v: Values, density: float, scene: Scene) -> Update:
        if not np.isfinite(v).all():
            raise ValueError("a coordinate is not finite")
        if self.scale == "mean":
            ends = np.unique([end for end in scene.model.layout.layer_ends if end > 0])
            starts = np.concatenate([[0], ends[:-1]])
            scales = np.add.reduceat(np.abs(v).astype(np.float64), starts) / (ends - starts)
        else:
            ends, scales = np.array([v.size]), np.array([self.step])
        coded = Coded("grid", (v >= 0).astype(np.uint8), scales.astype(np.float32), ends, steps=1)
        return Update(v.size, all_positions(v.size), coded.values(), coded)
