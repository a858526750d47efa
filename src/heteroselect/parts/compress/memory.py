"""Memories: what a client keeps of what it could not send.

A memory turns what was learnt (Δ) into what is offered to the compressor (v), and settles once it is known whether
the upload arrived: what was lost on the way stays with the client, whatever the memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from heteroselect.core.part import FieldError, setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values, finite


@dataclass(frozen=True)
class NoMemory:
    """Keeps nothing: what was not sent is gone. Unbiased compressors need no more, and clients stay stateless.

    Use when the compressor is unbiased, or clients take part once. Beware: a sparse biased compressor loses most of
    what is learnt.
    """

    kind: ClassVar[str] = "none"

    def beta(self, theta: float) -> float:
        return 0.0

    def offer(self, delta: Values, kept: PartState) -> tuple[Values, PartState]:
        return finite(delta), {}

    def update_state(self, kept: PartState, sent: Update | None, beta: float) -> PartState:
        return {}


@dataclass(frozen=True)
class ErrorMemory:
    """Adds what was not sent to the next update: v = Δ + e goes into the compressor, e ← β(t)·(v − sent) stays (eq. 9;
    Stich et al., NeurIPS 2018).

    With β = 1 nothing is ever lost; with β < 1 an unsent coordinate keeps β^j of itself after j participations.

    Use when the compressor is biased and clients come back. Beware: old residuals of rare participants are stale; β < 1
    lets them fade.
    """

    kind: ClassVar[str] = "error"
    traits = Traits(keeps=True)

    decay: Literal["adaptive", "static"] = setting("adaptive", "decay of the memory: adaptive (eq. 9) or static")
    minimum: float = setting(0.85, "lowest value β_min of the adaptive decay", ge=0, le=1)
    maximum: float = setting(0.97, "highest value β_max of the adaptive decay", ge=0, le=1)
    static: float = setting(0.9, "decay β of the memory where it is static", ge=0, le=1)

    def __post_init__(self) -> None:
        if self.minimum > self.maximum:
            raise FieldError("minimum", f"allowed is at most the maximum, which is {self.maximum:g}")

    def beta(self, theta: float) -> float:
        """β(t) = β_min + (β_max − β_min)(1 − θ_t)   (eq. 9)"""
        if self.decay == "static":
            return self.static
        return self.minimum + (self.maximum - self.minimum) * (1 - theta)

    def offer(self, delta: Values, kept: PartState) -> tuple[Values, PartState]:
        """v = Δ + e."""
        v = finite(delta) + kept["residual"] if "residual" in kept else finite(delta)
        return v, {"residual": v}

    def update_state(self, kept: PartState, sent: Update | None, beta: float) -> PartState:
        """e ← β(v − sent); all of v where nothing arrived."""
        if sent is None:
            return kept
        v = kept["residual"]
        residual = np.multiply(v, np.float32(beta))
        residual[sent.positions] = np.float32(beta) * (v[sent.positions] - sent.values)
        return {"residual": residual}


@dataclass(frozen=True)
class EF21:
    """Sends changes to an estimate: both sides hold the same estimate g of the client's update; it sends C(Δ − g), and
    both add that (Richtárik, Sokolov, Fatkhullin, NeurIPS 2021).

    There is no residual and no decay. The server sums over all clients, the estimates of absent ones included: it
    needs a server that holds the running sum (kind running) and weights of 1/K (kind everybody).

    Use when the compressor is biased and most clients take part. Beware: with few of many clients per round most
    estimates are old.
    """

    kind: ClassVar[str] = "ef21"
    traits = Traits(
        brings={"weigh": {"kind": "everybody"}, "server_optimizer": {"kind": "running"}},
        requires={"weigh": ("everybody",), "server_optimizer": ("running",), "aggregate": ("mean",)},
        by_cohort=True,
        keeps=True,
    )

    def beta(self, theta: float) -> float:
        return 1.0

    def offer(self, delta: Values, kept: PartState) -> tuple[Values, PartState]:
        """v = Δ − g."""
        known = kept.get("reference", np.zeros_like(delta))
        return finite(delta) - known, {"reference": known}

    def update_state(self, kept: PartState, sent: Update | None, beta: float) -> PartState:
        """g ← g + sent, which is what the server does too."""
        if sent is None:
            return kept
        known = kept["reference"].copy()
        sent.add_to(known)
        return {"reference": known}


@dataclass(frozen=True)
class MomentumMemory:
    """Keeps deep gradient compression's pair (Lin et al., ICLR 2018): u ← m·u + Δ, v ← v + u; what was sent is cleared
    in both, so that a stale momentum does not push a coordinate twice.

    The momentum lives here, so the server should have none. `momentum` = 0 is the plain error memory with β = 1.

    Use when updates are very sparse. Beware: a server momentum on top counts the momentum twice.
    """

    kind: ClassVar[str] = "momentum"
    traits = Traits(keeps=True)

    momentum: float = setting(
        0.9, "momentum m of the memory; 0 is a plain error memory without decay", ge=0, lt=1, tune=(0.1, 0.95, "linear")
    )

    def fits(self, parts: Mapping[str, Any]) -> str | None:
        """Why it cannot work with these parts, or None."""
        signs = getattr(parts["compress"], "kind", "") == "sign"
        return "is not allowed with compress sign: all is sent each round, so that nothing builds up" if signs else None

    def beta(self, theta: float) -> float:
        return 1.0

    def offer(self, delta: Values, kept: PartState) -> tuple[Values, PartState]:
        """v + u, with the new u."""
        finite(delta)
        u = np.float32(self.momentum) * kept["velocity"] + delta if "velocity" in kept else delta
        v = kept["residual"] + u if "residual" in kept else u
        return v, {"velocity": u, "residual": v}

    def update_state(self, kept: PartState, sent: Update | None, beta: float) -> PartState:
        """Momentum factor masking: u = 0 where something was sent; v keeps only what rounding lost there."""
        if sent is None:
            return kept
        u, v = kept["velocity"].copy(), kept["residual"].copy()
        u[sent.positions] = 0
        v[sent.positions] -= sent.values
        return {"velocity": u, "residual": v}
