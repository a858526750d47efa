"""TernGrad: each coordinate as −s, 0 or +s, at random (Wen et al., NeurIPS 2017)."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Positions, Update, Values, finite
from heteroselect.parts.compress.context import FORGETS, CompressContext
from heteroselect.parts.compress.grid import to_grid, without_zeros


@dataclass(frozen=True)
class TernGrad:
    """Sends s·sign(v_i) with probability |v_i|/s, else 0, where s is the layer's largest magnitude (Wen et al., NeurIPS
    2017).

    Each layer is first clipped to `clip` of its standard deviations (0: not at all), which makes s small; but for
    that it is without bias, with a variance of Σ|v_i|(s − |v_i|). The density is not looked at.

    Use when three values per coordinate are enough. Beware: one large coordinate of a layer makes all others noisy
    unless it is clipped, which is a bias.
    """

    kind: ClassVar[str] = "terngrad"

    clip: float = setting(2.5, "standard deviations that a layer is clipped to; 0 does not clip", ge=0)

    @property
    def traits(self) -> Traits:
        few = Traits(brings={"error_feedback": FORGETS}, own_values=True, uses_density=False, takes_memory=False)
        return replace(few, unbiased=self.clip == 0)

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        ends = np.array(context.model.layout.layer_ends, np.int64)
        return without_zeros(v.size, to_grid(clipped(finite(v), ends, self.clip), 2, ends, context.rng)), {}


def clipped(v: Values, ends: Positions, clip: float) -> Values:
    """Each layer within ±clip·σ. Where all its coordinates are equal σ is 0 and none stands out: it stays.

    >>> import numpy as np
    >>> clipped(np.array([-1, 1, 5, 5], np.float32), np.array([2, 4]), 0.5).tolist()
    [-0.5, 0.5, 5.0, 5.0]
    """
    if clip <= 0:
        return v
    result = v.copy()
    for layer in np.split(result, ends[:-1]):  # views
        limit = clip * float(np.std(layer, dtype=np.float64)) if layer.size else 0.0
        if limit > 0:
            layer[:] = np.clip(layer.astype(np.float64), -limit, limit)
    return result
