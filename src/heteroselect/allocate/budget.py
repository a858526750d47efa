"""How much may all clients send this round? The warm-up and the cosine of eq. 7."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.allocate.waterfill import waterfill
from heteroselect.moment import Moment


@dataclass(frozen=True)
class Budget:
    """θ_t = max(θ_avg(1 + α cos φ), θ_floor), with θ_t = 1 in the warm-up.

    `index` says from where the cosine counts: the first round after the warm-up (so that it runs exactly
    from θ_avg(1 + α) to θ_avg(1 − α)) or the equation's (t − 1)/(T − 1). `exact` rescales the rounds after
    the warm-up so that the mean over all T, warm-up included, is θ_avg, as far as the floor allows. `ramp` is the
    warm-up of deep gradient compression (Lin et al., ICLR 2018): θ_t = θ_avg^{t/(W+1)} instead of 1.
    """

    average: float = 0.2
    amplitude: float = 0.4
    floor: float = 0.08
    warmup_rounds: int = 1
    ramp: bool = False
    index: Literal["after-warmup", "equation"] = "after-warmup"
    exact: bool = False

    def warming_up(self, moment: Moment) -> bool:
        return moment.round <= self.warmup_rounds

    def theta(self, moment: Moment) -> float:
        if self.warming_up(moment):
            return float(self.average ** (moment.round / (self.warmup_rounds + 1))) if self.ramp else 1.0
        if not self.exact:
            return float(np.clip(self._cosine(moment.round, moment.rounds), self.floor, 1.0))
        warmup = min(self.warmup_rounds, moment.rounds)
        later = range(warmup + 1, moment.rounds + 1)
        wanted = np.array([self._cosine(t, moment.rounds) for t in later])
        spent = sum(self.theta(Moment(t, moment.rounds)) for t in range(1, warmup + 1))
        left = moment.rounds * self.average - spent
        return float(waterfill(wanted, left, np.ones(len(wanted)), self.floor)[moment.round - warmup - 1])

    def _cosine(self, round: int, rounds: int) -> float:
        """θ_avg(1 + α cos φ); a single round after the warm-up is at the top of the cosine."""
        skipped = self.warmup_rounds if self.index == "after-warmup" else 0
        first, last = round - skipped - 1, rounds - skipped - 1
        phase = first / last if last > 0 else 0.0
        return self.average * (1 + self.amplitude * math.cos(math.pi * phase))
