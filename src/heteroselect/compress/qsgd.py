"""QSGD: each coordinate rounded at random to a few levels of its bucket's norm (Alistarh et al., NeurIPS 2017)."""

from dataclasses import dataclass

import numpy as np

from heteroselect.compress.curvature import Scene
from heteroselect.compress.grid import without_zeros
from heteroselect.compress.update import Update, Values
from heteroselect.compress.values import MOST_STEPS, to_grid


@dataclass(frozen=True)
class QSGD:
    """v_i becomes ‖v‖·sign(v_i)·ξ/s, where ξ is one of the two whole numbers next to s|v_i|/‖v‖, at random and
    without bias (Alistarh et al., NeurIPS 2017).

    s is `levels`, and ‖v‖ that of `bucket` coordinates b; the variance is at most min(b/s², √b/s)·‖v‖². The density
    is not looked at.
    """

    levels: int = 4
    bucket: int = 512

    def __post_init__(self) -> None:
        if not 1 <= self.levels <= MOST_STEPS // 2 or self.bucket < 1:
            raise ValueError(f"1 to {MOST_STEPS // 2} levels and a bucket of at least 1 are allowed")

    def compress(self, v: Values, density: float, scene: Scene) -> Update:
        if not np.isfinite(v).all():
            raise ValueError("a coordinate is not finite")
        starts = np.arange(0, v.size, self.bucket)
        norms = np.sqrt(np.add.reduceat(np.square(v, dtype=np.float64), starts))
        # a norm beyond float32 may be cut: no coordinate is larger than the largest float, so nothing is clipped
        scales = np.minimum(norms, np.finfo(np.float32).max).astype(np.float32)
        ends = np.minimum(starts + self.bucket, v.size)
        return without_zeros(v.size, to_grid(v, 2 * self.levels, ends, scene.rng, scales))
