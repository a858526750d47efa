"""How much may all clients send this round? The warm-up and the cosine of eq. 7."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.core.moment import Moment
from heteroselect.core.part import setting
from heteroselect.parts.allocate.waterfill import waterfill


@dataclass(frozen=True)
class Schedule:
    """θ_t = max(θ_avg(1 + α cos φ), θ_floor), with θ_t = 1 in the warm-up; a `ramp` is the warm-up of deep gradient
    compression instead (Lin et al., ICLR 2018): θ_t = θ_avg^{t/(W+1)}.

    The base of allocators that share out such a budget: its fields are settings of theirs.
    """

    average: float = setting(0.2, "mean density θ_avg of all rounds (eq. 7)", gt=0, le=1, tune=(0.005, 0.5, "log"))
    amplitude: float = setting(0.4, "amplitude α_cos of the cosine schedule of densities (eq. 7)", ge=0, le=1)
    floor: float = setting(0.08, "lowest density θ_floor of the schedule (eq. 7)", gt=0, le=1)
    warmup: Literal["full", "allocated", "ramp"] = setting(
        "full",
        "rule of warm-up rounds: all is sent (the text), share and ceiling (as run), or a ramp to average (DGC)",
    )
    warmup_rounds: int = setting(1, "number of warm-up rounds at the start", ge=0)
    index: Literal["after-warmup", "equation"] = setting(
        "after-warmup", "where the cosine starts: the first round after the warm-up, or the equation's (t − 1)/(T − 1)"
    )
    exact: bool = setting(
        False, "rescale the cosine so that the mean over all rounds, warm-up included, is θ_avg where the floor allows"
    )

    def warming_up(self, moment: Moment) -> bool:
        return moment.round <= self.warmup_rounds

    def theta(self, moment: Moment) -> float:
        """θ_t of eq. 7."""
        if self.warming_up(moment):
            ramp = self.warmup == "ramp"
            return float(self.average ** (moment.round / (self.warmup_rounds + 1))) if ramp else 1.0
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
