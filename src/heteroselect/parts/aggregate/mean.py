"""The weighted sum of the updates (eq. 13), which every other aggregate is measured by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.update import Update, Values


@dataclass(frozen=True)
class Mean:
    """Adds up Δ̄ = Σ a_k Δ̃_k (eq. 13), added in the order given. One hostile client is enough to move it anywhere.

    Use when clients are honest. Beware: hostile clients need a robust aggregation.
    """

    kind = "mean"

    def aggregate(self, updates: Sequence[Update], weights: Reals, size: int) -> Values:
        check(updates, weights, size)
        total = np.zeros(size, np.float32)
        for update, weight in zip(updates, weights, strict=True):
            update.add_to(total, float(weight))
        return total


def check(updates: Sequence[Update], weights: Reals, size: int) -> None:
    """Raise ValueError where something could not be added up: not one finite weight per update, or an update of
    another size or with values that are not finite."""
    if len(updates) != len(weights) or not np.isfinite(weights).all():
        raise ValueError(f"allowed is one finite weight for each of {len(updates)} updates")
    for update in updates:
        if update.size != size:
            raise ValueError(f"an update has {update.size} coordinates instead of {size}")
        if not np.isfinite(update.values).all():
            raise ValueError("an update has values that are not finite")
