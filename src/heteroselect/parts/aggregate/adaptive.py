"""Adaptive server steps: FedAdagrad, FedAdam and FedYogi.

Reddi et al., "Adaptive federated optimization", ICLR 2021, algorithm 2. The aggregate takes the place of the gradient,
and there is no bias correction. (Their FedAvgM is the server's plain momentum, `ServerMomentum(0.9)`.)
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.update import Values


@dataclass(frozen=True)
class Adaptive:
    """Scales every coordinate: m ← β₁m + (1 − β₁)Δ, w ← w + η·m/(√v + τ), where v follows Δ² as the rule says, from v₀
    = τ².

    τ has to be of the scale of Δ: it says which coordinates are too small to be trusted with a full step.

    Use when coordinates differ much in scale, as with sparse features. Beware: τ and the rate want tuning.
    """

    kind = "adaptive"

    rule: Literal["adagrad", "adam", "yogi"] = setting("adam", "rule by which the second moment v follows Δ²")
    rate: float = setting(0.03, "factor η on the server's step", gt=0, tune=(0.001, 0.3, "log"))
    momentum: float = setting(0.9, "decay β₁ of the first moment", ge=0, lt=1)
    second: float = setting(0.99, "decay β₂ of the second moment (adam and yogi)", ge=0, lt=1)
    tau: float = setting(1e-3, "constant τ that is added to √v, and the start of it", gt=0, tune=(1e-5, 0.1, "log"))

    def step(self, state: PartState, aggregate: Values) -> tuple[PartState, Values]:
        first: Values = state.get("first", np.zeros_like(aggregate))
        first = np.float32(self.momentum) * first + np.float32(1 - self.momentum) * aggregate
        second = self._second(state.get("second", np.full_like(aggregate, self.tau**2)), aggregate * aggregate)
        scale: Values = np.sqrt(second) + np.float32(self.tau)
        return {"first": first, "second": second}, np.float32(self.rate) * (first / scale)

    def _second(self, v: Values, square: Values) -> Values:
        keep, add = np.float32(self.second), np.float32(1 - self.second)
        if self.rule == "adagrad":
            return v + square
        if self.rule == "adam":
            return keep * v + add * square
        less: Values = add * square * np.sign(v - square)
        return v - less
