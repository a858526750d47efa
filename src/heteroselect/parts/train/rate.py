"""The local learning rate: one decaying schedule shared by all (eq. 12), one scaled by the score, or a cosine over
rounds or simulated seconds."""

import math
from dataclasses import dataclass, replace

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.moment import Moment
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits


@dataclass(frozen=True)
class SharedRate:
    """Gives everybody η(t) = η₀(1 − d·min(t/T, 1)) (eq. 12, with d = 0.5).

    Use when all clients are to take equal steps, which corrections of drift need. Beware: the rate depends on the
    number of rounds that the run is planned for.
    """

    kind = "shared"
    traits = Traits(carries=("start", "decay"))

    start: float = setting(0.05, "learning rate η₀ of the first round (eq. 12)", gt=0, tune=(0.005, 0.5, "log"))
    decay: float = setting(0.5, "share of the learning rate η₀ that is lost by round T", ge=0, le=1)

    def eta(self, moment: Moment) -> float:
        return self.start * (1 - self.decay * moment.progress)

    def of_clients(self, moment: Moment, scores: Reals) -> list[float]:
        return [self.eta(moment)] * len(scores)


@dataclass(frozen=True)
class ScoreRate(SharedRate):
    """Gives each client min(η(t)·(1 + S_k), cap), which made the paper's Table I; `shared` is the recommended design.

    Use when the paper's Table I is to be reproduced. Beware: unequal rates weigh clients a second time.
    """

    kind = "score"
    traits = replace(SharedRate.traits, needs={"scores"})

    cap: float = setting(0.15, "highest learning rate after scaling by the score", gt=0)

    def of_clients(self, moment: Moment, scores: Reals) -> list[float]:
        if not np.isfinite(scores).all():
            raise ValueError("a score is not finite")
        eta = self.eta(moment)
        return [min(eta * (1 + float(score)), self.cap) for score in scores]


@dataclass(frozen=True)
class CosineRate:
    """Gives everybody η₀(f + (1 − f)(1 + cos πφ)/2) with φ the part of the time that has passed when a round
    begins (Loshchilov and Hutter, "SGDR", ICLR 2017, without restarts). Time is counted in rounds, or in simulated
    seconds: then methods with rounds of any length have the same rate at the same second.

    Use when the model is to settle at the end, or methods are compared at equal seconds. Beware: a run that is stopped
    early has not come down yet.
    """

    kind = "cosine"
    traits = Traits(carries=("start",))

    start: float = setting(0.05, "highest learning rate η₀", gt=0, tune=(0.005, 0.5, "log"))
    horizon: float | None = setting(None, "simulated seconds until the lowest rate; none takes all rounds", gt=0)
    warmup: float = setting(0.0, "seconds of the horizon, else rounds, of a straight rise from a tenth of η₀", ge=0)
    final: float = setting(0.05, "f, share of η₀ that is left at the end", ge=0, le=1)

    def eta(self, moment: Moment) -> float:
        passed, end = (moment.round - 1, moment.rounds) if self.horizon is None else (moment.now, self.horizon)
        if passed < self.warmup:
            return self.start * (0.1 + 0.9 * passed / self.warmup)
        phase = min(1.0, (passed - self.warmup) / (end - self.warmup)) if end > self.warmup else 1.0
        return self.start * (self.final + (1 - self.final) * (1 + math.cos(math.pi * phase)) / 2)

    def of_clients(self, moment: Moment, scores: Reals) -> list[float]:
        return [self.eta(moment)] * len(scores)
