"""Memories: what a client keeps of what it could not send.

A memory turns what was learnt (Δ) into what is offered to the compressor (v), and settles once it is known whether
the upload arrived: what was lost on the way stays with the client, whatever the memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heteroselect.compress.update import Update, Values

Kept = Mapping[str, NDArray[Any]]
"""What a client carries from round to round, by name."""


@dataclass(frozen=True)
class ErrorMemory:
    """v = Δ + e goes into the compressor, e ← β(t)·(v − sent) stays (eq. 9; Stich et al., NeurIPS 2018).

    With β = 1 nothing is ever lost; with β < 1 an unsent coordinate keeps β^j of itself after j participations.
    """

    decay: Literal["adaptive", "static"] = "adaptive"
    minimum: float = 0.85
    maximum: float = 0.97
    static: float = 0.9

    def beta(self, theta: float) -> float:
        """β(t) = β_min + (β_max − β_min)(1 − θ_t)   (eq. 9)"""
        if self.decay == "static":
            return self.static
        return self.minimum + (self.maximum - self.minimum) * (1 - theta)

    def offer(self, delta: Values, kept: Kept) -> tuple[Values, Kept]:
        v = delta + kept["memory"] if "memory" in kept else delta
        return v, {"memory": v}

    def settle(self, kept: Kept, sent: Update | None, beta: float) -> Kept:
        """e ← β(v − sent); all of v where nothing arrived."""
        if sent is None:
            return kept
        v = kept["memory"]
        memory = np.multiply(v, np.float32(beta))
        memory[sent.positions] = np.float32(beta) * (v[sent.positions] - sent.values)
        return {"memory": memory}


@dataclass(frozen=True)
class NoMemory:
    """What was not sent is gone. Unbiased compressors need no more, and clients stay stateless."""

    def beta(self, theta: float) -> float:
        return 0.0

    def offer(self, delta: Values, kept: Kept) -> tuple[Values, Kept]:
        return delta, {}

    def settle(self, kept: Kept, sent: Update | None, beta: float) -> Kept:
        return {}


@dataclass(frozen=True)
class EF21:
    """Both sides hold what the client last said, g; it sends C(Δ − g), and both add that (Richtárik, Sokolov,
    Fatkhullin, NeurIPS 2021).

    There is no residual and no decay. The server sums over all clients, the absent ones' last words included: it
    wants a server that holds the running sum (`aggregate.Running`) and weights of 1/K.
    """

    def beta(self, theta: float) -> float:
        return 1.0

    def offer(self, delta: Values, kept: Kept) -> tuple[Values, Kept]:
        known = kept.get("reference", np.zeros_like(delta))
        return delta - known, {"reference": known}

    def settle(self, kept: Kept, sent: Update | None, beta: float) -> Kept:
        """g ← g + sent, which is what the server does too."""
        if sent is None:
            return kept
        known = kept["reference"].copy()
        sent.add_to(known)
        return {"reference": known}


@dataclass(frozen=True)
class MomentumMemory:
    """Deep gradient compression's pair (Lin et al., ICLR 2018): u ← m·u + Δ, v ← v + u; what was sent is cleared in
    both, so that a stale momentum does not push a coordinate twice.

    The momentum lives here, so the server should have none. `momentum` = 0 is the plain error memory with β = 1.
    """

    momentum: float = 0.9

    def beta(self, theta: float) -> float:
        return 1.0

    def offer(self, delta: Values, kept: Kept) -> tuple[Values, Kept]:
        u = np.float32(self.momentum) * kept["velocity"] + delta if "velocity" in kept else delta
        v = kept["memory"] + u if "memory" in kept else u
        return v, {"velocity": u, "memory": v}

    def settle(self, kept: Kept, sent: Update | None, beta: float) -> Kept:
        """Momentum factor masking: u = 0 where something was sent; v keeps only what rounding lost there."""
        if sent is None:
            return kept
        u, v = kept["velocity"].copy(), kept["memory"].copy()
        u[sent.positions] = 0
        v[sent.positions] -= sent.values
        return {"velocity": u, "memory": v}
