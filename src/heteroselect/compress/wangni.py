"""Random sparsification that spends its chances where they lower the variance most (Wangni et al., NeurIPS 2018)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from heteroselect.compress.scene import FORGETS, Scene, uniform
from heteroselect.compress.update import Update, Values, finite, to_float32
from heteroselect.part import Brings
from heteroselect.state import Kept

_RESCALES = 4


@dataclass(frozen=True)
class Wangni:
    """Coordinate i is sent with probability p_i, as v_i/p_i: without bias (Wangni et al., NeurIPS 2018).

    The number sent is random, ρN on average at most; large coordinates are sent surely and exactly.
    """

    kind: ClassVar[str] = "wangni"
    unbiased: ClassVar[bool] = True
    brings: ClassVar[Brings] = {"memory": FORGETS, "allocate": uniform(0.2)}

    def compress(self, v: Values, density: float, scene: Scene) -> tuple[Update, Kept]:
        """Some coordinates of v, each over its probability."""
        chances = probabilities(v, density)
        positions = np.flatnonzero(scene.rng.random(v.size) < chances)
        return Update(v.size, positions, to_float32(v[positions] / chances[positions])), {}


def probabilities(v: Values, density: float) -> NDArray[np.float64]:
    """p = min(λ|v|, 1) with Σp close to ρN: what the surely sent ones leave of ρN goes to the others, four times at
    most (the greedy rule of the paper). At ρ = 1 every coordinate but the zeros is sent.

    >>> import numpy as np
    >>> probabilities(np.array([10, 1, 1, 1, 1], np.float32), 0.4).tolist()
    [1.0, 0.25, 0.25, 0.25, 0.25]
    """
    magnitudes = np.abs(finite(v)).astype(np.float64)
    total, wanted = float(magnitudes.sum()), density * v.size
    if total == 0 or density >= 1:
        return (magnitudes > 0).astype(np.float64)
    chances: NDArray[np.float64] = np.minimum(wanted * magnitudes / total, 1.0)
    for _ in range(_RESCALES):
        unsure = chances < 1
        mass = float(chances[unsure].sum())
        left = wanted - v.size + np.count_nonzero(unsure)
        if mass == 0 or left <= mass:  # none but zeros are unsure, or the target is met
            break
        chances[unsure] = np.minimum(chances[unsure] * (left / mass), 1.0)
    return chances
