"""Server momentum: the aggregate is fed into a decaying sum (eq. 14).

M ← β_s·M + Δ̄, w ← w + M. In the steady state the gain is 1/(1 − β_s), two at the paper's 0.5.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heteroselect.arrays import Reals
from heteroselect.compress.memory import Kept
from heteroselect.compress.update import Update, Values


@dataclass(frozen=True)
class ServerMomentum:
    momentum: float = 0.5
    rate: float = 1.0

    def step(self, state: Kept, aggregate: Values) -> tuple[Kept, Values]:
        """The new state, and what is added to the model: w ← w + rate·M."""
        momentum = _carried(state, self.momentum, aggregate)
        return {"momentum": momentum}, momentum if self.rate == 1 else np.float32(self.rate) * momentum


@dataclass(frozen=True)
class LookAhead:
    """Server momentum whose clients start where it is about to carry the model: from w + λM instead of w (FedACG: Kim,
    Kim, Han, "Communication-efficient federated learning with accelerated client gradient", CVPR 2024; the look-ahead
    is Nesterov's).

    M ← λM + Δ̄, w ← w + rate·M. The model here is the point that is sent out, z = w + rate·λM, which moves by
    rate·(Δ̄ + λM) with the new M: nothing else has to be sent, and z is what is evaluated.
    """

    momentum: float = 0.85
    rate: float = 1.0

    def step(self, state: Kept, aggregate: Values) -> tuple[Kept, Values]:
        momentum = _carried(state, self.momentum, aggregate)
        return {"momentum": momentum}, np.float32(self.rate) * (aggregate + np.float32(self.momentum) * momentum)


@dataclass(frozen=True)
class Running:
    """The server of EF21: ḡ ← ḡ + aggregate is what all clients last said, the absent included, and the model moves by
    `rate`·ḡ (Richtárik, Sokolov, Fatkhullin, NeurIPS 2021). A part of ḡ is old: a rate of 1 overshoots where few of
    many clients take part."""

    rate: float = 1.0

    def step(self, state: Kept, aggregate: Values) -> tuple[Kept, Values]:
        known = state["reference"] + aggregate if "reference" in state else aggregate
        return {"reference": known}, np.float32(self.rate) * known


def _carried(state: Kept, share: float, aggregate: Values) -> Values:
    """What is left of the sum so far, and the aggregate."""
    return np.float32(share) * state["momentum"] + aggregate if "momentum" in state else aggregate


def weighted_sum(size: int, updates: Sequence[Update], weights: Reals) -> Values:
    """Δ̄ = Σ a_k Δ̃_k (eq. 13), added in the order given."""
    total = np.zeros(size, np.float32)
    for update, weight in zip(updates, weights, strict=True):
        update.add_to(total, float(weight))
    return total
