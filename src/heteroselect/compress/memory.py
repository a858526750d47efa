"""Error memory: what a client could not send yet (eq. 9; Stich et al., NeurIPS 2018).

v = Δ + e goes into the compressor, e ← β(t)·(v − sent) stays. With β = 1 nothing is ever lost; with
β < 1 an unsent coordinate keeps β^j of itself after j participations.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.compress.update import Update, Values


@dataclass(frozen=True)
class ErrorMemory:
    decay: Literal["adaptive", "static"] = "adaptive"
    minimum: float = 0.85
    maximum: float = 0.97
    static: float = 0.9
    keep_unweighted: bool = False
    """Where the update will count with weight 0, keep all of it for later instead of losing it."""

    def beta(self, theta: float) -> float:
        """β(t) = β_min + (β_max − β_min)(1 − θ_t)   (eq. 9)"""
        if self.decay == "static":
            return self.static
        return self.minimum + (self.maximum - self.minimum) * (1 - theta)

    def add(self, delta: Values, memory: Values | None) -> Values:
        return delta if memory is None else delta + memory

    def rest(self, v: Values, sent: Update, beta: float, weight: float) -> Values:
        """e ← β(v − sent)"""
        if self.keep_unweighted and weight == 0:
            return v.copy()
        memory = np.multiply(v, np.float32(beta))
        memory[sent.positions] = np.float32(beta) * (v[sent.positions] - sent.values)
        return memory


@dataclass(frozen=True)
class NoMemory:
    """What was not sent is gone. Unbiased compressors need no more, and clients stay stateless."""

    def beta(self, theta: float) -> float:
        return 0.0

    def add(self, delta: Values, memory: Values | None) -> Values:
        return delta

    def rest(self, v: Values, sent: Update, beta: float, weight: float) -> None:
        return None
