"""Random sparsification that spends its chances where they lower the variance most (Wangni et al., NeurIPS 2018)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.core.arrays import Reals, proportional_chances
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values, finite, to_float32
from heteroselect.parts.compress.context import FORGETS, CompressContext, uniform


@dataclass(frozen=True)
class Wangni:
    """Draws what is sent: coordinate i is sent with probability p_i, as v_i/p_i: without bias (Wangni et al., NeurIPS
    2018).

    The number sent is random, ρN on average at most; large coordinates are sent surely and exactly.

    Use when an unbiased sparse update is wanted without a memory. Beware: the number sent is random, and small
    coordinates come rarely but large.
    """

    kind: ClassVar[str] = "wangni"
    traits = Traits(brings={"error_feedback": FORGETS, "allocate": uniform(0.2)}, unbiased=True)

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        chances = probabilities(v, density)
        positions = np.flatnonzero(context.rng.random(v.size) < chances)
        return Update(v.size, positions, to_float32(v[positions] / chances[positions])), {}


def probabilities(v: Values, density: float) -> Reals:
    """p = min(λ|v|, 1) with Σp close to ρN: what the surely sent ones leave of ρN goes to the others, four times at
    most (the greedy rule of the paper). At ρ = 1 every coordinate but the zeros is sent.

    >>> import numpy as np
    >>> probabilities(np.array([10, 1, 1, 1, 1], np.float32), 0.4).tolist()
    [1.0, 0.25, 0.25, 0.25, 0.25]
    """
    magnitudes = np.abs(finite(v)).astype(np.float64)
    if density >= 1 or not magnitudes.any():
        return (magnitudes > 0).astype(np.float64)
    return proportional_chances(magnitudes, density * v.size)
