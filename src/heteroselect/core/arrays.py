"""The arrays that parts hand each other, one number for each client; and chances in proportion to them."""

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]


def proportional_chances(weights: Reals, expected: float, rescales: int = 4) -> Reals:
    """p = min(λw, 1) with Σp close to `expected`: what those who are sure of it leave goes to the others, `rescales`
    times at most. Not all weights may be 0."""
    chances: Reals = np.minimum(expected * weights / weights.sum(), 1.0)
    for _ in range(rescales):
        unsure = chances < 1
        mass, left = chances[unsure].sum(), expected - len(weights) + np.count_nonzero(unsure)
        if mass == 0 or left <= mass:  # none but zeros are unsure, or the sum is met
            break
        chances[unsure] = np.minimum(chances[unsure] * (left / mass), 1.0)
    return chances
