"""How much may all clients send this round? The warm-up and the cosine of eq. 7."""

import math
from dataclasses import dataclass
from typing import Literal

from heteroselect.moment import Moment


@dataclass(frozen=True)
class Budget:
    """θ_t = max(θ_avg(1 + α cos φ), θ_floor), with θ_t = 1 in the warm-up.

    `index` says from where the cosine counts: the first round after the warm-up (so that it runs exactly
    from θ_avg(1 + α) to θ_avg(1 − α)) or the equation's (t − 1)/(T − 1). `exact` rescales the rounds after
    the warm-up so that the mean over all T, warm-up included, is θ_avg (as far as the warm-up leaves any).
    """

    average: float = 0.2
    amplitude: float = 0.4
    floor: float = 0.08
    warmup_rounds: int = 1
    index: Literal["after-warmup", "equation"] = "after-warmup"
    exact: bool = False

    def warming_up(self, moment: Moment) -> bool:
        return moment.round <= self.warmup_rounds

    def theta(self, moment: Moment) -> float:
        if self.warming_up(moment):
            return 1.0
        value = self._cosine(moment.round, moment.rounds)
        if not self.exact:
            return value
        warmup = min(self.warmup_rounds, moment.rounds)
        planned = sum(self._cosine(t, moment.rounds) for t in range(warmup + 1, moment.rounds + 1))
        left = moment.rounds * self.average - warmup
        return min(1.0, value * left / planned) if left > 0 else self.floor

    def _cosine(self, round: int, rounds: int) -> float:
        skipped = self.warmup_rounds if self.index == "after-warmup" else 0
        first, last = round - skipped - 1, rounds - skipped - 1
        phase = first / last if last > 0 else 0.0
        return min(1.0, max(self.average * (1 + self.amplitude * math.cos(math.pi * phase)), self.floor))
