"""How much may all clients send this round? The warm-up and the cosine of eq. 7."""

import math
from dataclasses import dataclass
from typing import Literal

from heteroselect.core.moment import Moment
from heteroselect.core.part import setting


@dataclass(frozen=True)
class Schedule:
    """θ_t = max(θ_avg(1 + α cos φ), θ_floor), with θ_t = 1 in the warm-up and the cosine from the first round after it;
    a `ramp` is the warm-up of deep gradient compression instead (Lin et al., ICLR 2018): θ_t = θ_avg^{t/(W+1)}.

    The base of allocators that share out such a budget: its fields are settings of theirs.
    """

    average: float = setting(0.2, "θ_avg of eq. 7", gt=0, le=1, tune=(0.005, 0.5, "log"))
    amplitude: float = setting(0.4, "α_cos of eq. 7", ge=0, le=1)
    floor: float = setting(0.08, "θ_floor of eq. 7", gt=0, le=1)
    warmup: Literal["full", "allocated", "ramp"] = setting(
        "full",
        "warm-up rounds send everything (the text), go through share and ceiling (as run), or ramp to average (DGC)",
    )
    warmup_rounds: int = setting(1, "rounds of warm-up at the start", ge=0)

    def warming_up(self, moment: Moment) -> bool:
        return moment.round <= self.warmup_rounds

    def theta(self, moment: Moment) -> float:
        """θ_t of eq. 7."""
        if self.warming_up(moment):
            ramp = self.warmup == "ramp"
            return float(self.average ** (moment.round / (self.warmup_rounds + 1))) if ramp else 1.0
        first, last = moment.round - self.warmup_rounds - 1, moment.rounds - self.warmup_rounds - 1
        phase = first / last if last > 0 else 0.0  # a single round after the warm-up is at the top of the cosine
        wanted = self.average * (1 + self.amplitude * math.cos(math.pi * phase))
        return min(max(wanted, self.floor), 1.0)
