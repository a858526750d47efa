"""Random κ: which coordinates are sent is left to chance (Stich et al., NeurIPS 2018; Wangni et al., NeurIPS 2018)."""

from dataclasses import dataclass

import numpy as np

from heteroselect.compress.curvature import Scene
from heteroselect.compress.topk import Rounding, kept_count
from heteroselect.compress.update import Update, Values, to_float32


@dataclass(frozen=True)
class RandomK:
    """κ coordinates drawn evenly (Stich et al., NeurIPS 2018).

    As they are, the expected error is (1 − κ/N)‖v‖² and wants an error memory. `scaled` sends them times N/κ:
    without bias, with a variance of (N/κ − 1)‖v‖², and for use without a memory.
    """

    rounding: Rounding = "ceil"
    scaled: bool = False

    def compress(self, v: Values, density: float, scene: Scene) -> Update:
        if not np.isfinite(v).all():
            raise ValueError("a coordinate is not finite")
        kept = kept_count(density, v.size, self.rounding)
        positions = np.sort(scene.rng.choice(v.size, kept, replace=False))
        update = Update.keep(v, positions)
        return (
            Update(v.size, positions, to_float32(update.values.astype(np.float64) * (v.size / kept)))
            if self.scaled
            else update
        )
