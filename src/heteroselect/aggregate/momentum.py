"""Server momentum: the aggregate is fed into a decaying sum (eq. 14).

M ← β_s·M + Δ̄, w ← w + M. In the steady state the gain is 1/(1 − β_s), two at the paper's 0.5.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heteroselect.compress.update import Update, Values
from heteroselect.population import Reals


@dataclass(frozen=True)
class ServerMomentum:
    momentum: float = 0.5

    def step(self, state: Values, aggregate: Values) -> tuple[Values, Values]:
        """The new momentum, and what is added to the model (here the same vector)."""
        state = np.float32(self.momentum) * state + aggregate
        return state, state


def weighted_sum(size: int, updates: Sequence[Update], weights: Reals) -> Values:
    """Δ̄ = Σ a_k Δ̃_k (eq. 13), added in the order given."""
    total = np.zeros(size, np.float32)
    for update, weight in zip(updates, weights, strict=True):
        update.add_to(total, float(weight))
    return total
