"""What the server adds to the model: the aggregate itself, or a sum that remembers earlier ones (eq. 14)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Values


@dataclass(frozen=True)
class ServerSGD:
    """Steps by w ← w + rate·Δ̄ (FedAvg at a rate of 1).

    Use when nothing speaks for a momentum. Beware: rates other than 1 change FedAvg.
    """

    kind = "sgd"

    rate: float = setting(1.0, "factor on the server's step", gt=0, tune=(0.3, 3, "log"))

    def step(self, state: PartState, aggregate: Values) -> tuple[PartState, Values]:
        return {}, _scaled(self.rate, aggregate)


@dataclass(frozen=True)
class ServerMomentum:
    """Steps with a momentum: M ← β_s·M + Δ̄, w ← w + rate·M (eq. 14). In the steady state the gain is 1/(1 − β_s), two
    at the paper's 0.5.

    Use when aggregates of rounds are noisy. Beware: a gain of 1/(1 − β_s) may overshoot; lower the rate with it.
    """

    kind = "momentum"

    momentum: float = setting(0.5, "momentum β_s of the server (eq. 14)", ge=0, lt=1, tune=(0.1, 0.95, "linear"))
    rate: float = setting(1.0, "factor on the server's step", gt=0, tune=(0.3, 3, "log"))

    def step(self, state: PartState, aggregate: Values) -> tuple[PartState, Values]:
        momentum = _carried(state, self.momentum, aggregate)
        return {"momentum": momentum}, _scaled(self.rate, momentum)


@dataclass(frozen=True)
class LookAhead:
    """Steps with a momentum whose clients start where it is about to carry the model: from w + λM instead of w (FedACG:
    Kim, Kim, Han, "Communication-efficient federated learning with accelerated client gradient", CVPR 2024; the
    look-ahead is Nesterov's). Their penalty on leaving the starting point is the solver's proximal term.

    M ← λM + Δ̄, w ← w + rate·M. The model here is the point that is sent out, z = w + rate·λM, which moves by
    rate·(Δ̄ + λM) with the new M. Evaluated is w, as in the paper, or with `show` "ahead" z.

    Use when a high server momentum is wanted with few clients per round. Beware: noise of an upload stays in the
    momentum for several rounds.
    """

    kind = "look-ahead"

    momentum: float = setting(
        0.85, "share λ of the sum that is left each round, and how far clients look ahead",
        ge=0, lt=1, tune=(0.1, 0.95, "linear"),
    )  # fmt: skip
    rate: float = setting(1.0, "factor on the server's step", gt=0, tune=(0.3, 3, "log"))
    show: Literal["ahead", "model"] = setting("model", "model that is evaluated: w, or where clients start ahead of it")

    def step(self, state: PartState, aggregate: Values) -> tuple[PartState, Values]:
        momentum = _carried(state, self.momentum, aggregate)
        return {"momentum": momentum}, np.float32(self.rate) * (aggregate + np.float32(self.momentum) * momentum)

    def shown(self, state: PartState, model: Values) -> Values:
        """z itself, or w = z − rate·λM."""
        if self.show == "ahead" or "momentum" not in state:
            return model
        ahead: Values = np.float32(self.rate * self.momentum) * state["momentum"]
        return model - ahead


@dataclass(frozen=True)
class Running:
    """Holds the server's half of EF21: ḡ ← ḡ + aggregate is the sum of what all clients last sent, the absent included,
    and the model moves by `rate`·ḡ (Richtárik, Sokolov, Fatkhullin, NeurIPS 2021). A part of ḡ is old: a rate of 1
    overshoots where few of many clients take part.

    Use when the error feedback is `ef21`. Beware: it is refused with any other.
    """

    kind = "running"
    traits = Traits(
        brings={"error_feedback": {"kind": "ef21"}, "weigh": {"kind": "everybody"}},
        requires={"error_feedback": ("ef21",), "weigh": ("everybody",)},
    )

    rate: float = setting(1.0, "factor on the server's step", gt=0, tune=(0.3, 3, "log"))

    def step(self, state: PartState, aggregate: Values) -> tuple[PartState, Values]:
        known = state["reference"] + aggregate if "reference" in state else aggregate
        return {"reference": known}, np.float32(self.rate) * known


def _carried(state: PartState, share: float, aggregate: Values) -> Values:
    """What is left of the sum so far, and the aggregate."""
    return np.float32(share) * state["momentum"] + aggregate if "momentum" in state else aggregate


def _scaled(rate: float, step: Values) -> Values:
    return step if rate == 1 else np.float32(rate) * step
