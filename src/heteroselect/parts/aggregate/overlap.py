"""Averages over those who sent a coordinate: overlap-aware parameter-weighted averaging (OPWA). A reconstruction.

Tang, Huang, Yan, Wang, Tang, Shi, Zhou, Chu, "Bandwidth-aware and overlap-weighted compression for
communication-efficient federated learning", ICPP 2024: a coordinate that few clients kept is divided by all of them and
shrinks. The abstract says so much; the formula here is ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.part import setting
from heteroselect.core.update import Update, Values
from heteroselect.parts.aggregate.mean import Mean


@dataclass(frozen=True)
class Overlap:
    """Adds up Σ a_k·Δ̃_k, each coordinate divided by max(c, `least`), c being the part of all weight whose clients sent
    it. With `least` = 0 a coordinate that a single client sent counts in full.

    Use when sparse updates overlap little. Beware: a coordinate of one client then counts for all; it is reconstructed
    from an abstract.
    """

    kind = "opwa"

    least: float = setting(
        0.5, "least share of all weight that a coordinate is divided by; 1 is the mean",
        ge=0, le=1, tune=(0.05, 1, "linear"),
    )  # fmt: skip

    def aggregate(self, updates: Sequence[Update], weights: Reals, size: int) -> Values:
        total = Mean().aggregate(updates, weights, size)
        whole = float(weights.sum())
        if whole <= 0 or all(update.is_dense for update in updates):
            return total
        overlap = np.zeros(size, np.float32)
        for update, weight in zip(updates, weights, strict=True):
            overlap[update.positions] += np.float32(weight / whole)
        divisor = np.clip(overlap, np.float32(self.least), np.float32(1))
        return np.divide(total, divisor, out=total, where=divisor > 0)
