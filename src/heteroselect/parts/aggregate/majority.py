"""Majority vote of signs (Bernstein et al., "signSGD with majority vote is communication efficient and fault
tolerant", ICLR 2019): one bit up, one bit down."""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Values

TIE = 1e-5  # of the largest coordinate; what is left of a tie is the rounding of weights like 1/10


@dataclass(frozen=True)
class Majority:
    """Votes: every coordinate moves by `rate` the way that most clients want it to; where they tie it stays.

    The aggregate is the mean of signs, of whatever length: only its own signs are looked at.

    Use when clients send signs (signSGD). Beware: a fixed step never settles; lower the rate towards the end.
    """

    kind = "majority"
    traits = Traits(brings={"compress": {"kind": "sign", "scale": "step"}, "weigh": {"kind": "uniform"}})

    rate: float = setting(0.01, "distance that each coordinate moves per round", gt=0, tune=(5e-4, 0.05, "log"))

    def step(self, state: PartState, aggregate: Values) -> tuple[PartState, Values]:
        largest = np.abs(aggregate).max(initial=0.0)
        decided = np.abs(aggregate) > TIE * largest
        return {}, np.float32(self.rate) * np.where(decided, np.sign(aggregate), np.float32(0))
