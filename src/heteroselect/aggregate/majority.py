"""Majority vote of signs (Bernstein et al., "signSGD with majority vote is communication efficient and fault
tolerant", ICLR 2019): one bit up, one bit down."""

from dataclasses import dataclass

import numpy as np

from heteroselect.compress.memory import Kept
from heteroselect.compress.update import Values

TIE = 1e-5  # of the loudest coordinate; what is left of a tie is the rounding of weights like 1/10


@dataclass(frozen=True)
class Majority:
    """Every coordinate moves by `rate` the way that most clients want it to; where they tie it stays.

    The aggregate is the mean of signs, of whatever length: only its own signs are looked at.
    """

    rate: float = 1e-3

    def step(self, state: Kept, aggregate: Values) -> tuple[Kept, Values]:
        loudest = np.abs(aggregate).max(initial=0.0)
        decided = np.abs(aggregate) > TIE * loudest
        return {}, np.float32(self.rate) * np.where(decided, np.sign(aggregate), np.float32(0))
