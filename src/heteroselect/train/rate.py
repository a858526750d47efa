"""The local learning rate: one decaying schedule shared by all (eq. 12), or scaled by the score."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.arrays import Reals
from heteroselect.moment import Moment
from heteroselect.part import setting


@dataclass(frozen=True)
class SharedRate:
    """η(t) = η₀(1 − d·min(t/T, 1)) for everybody (eq. 12, with d = 0.5)."""

    kind: ClassVar[str] = "shared"
    carries: ClassVar[tuple[str, ...]] = ("start", "decay")

    start: float = setting(0.05, "η₀ of eq. 12", gt=0, tune=(0.005, 0.5, "log"))
    decay: float = setting(0.5, "share of η₀ lost by round T", ge=0, le=1)

    def eta(self, moment: Moment) -> float:
        return self.start * (1 - self.decay * moment.progress)

    def of_clients(self, moment: Moment, scores: Reals) -> list[float]:
        return [self.eta(moment)] * len(scores)


@dataclass(frozen=True)
class ScoreRate(SharedRate):
    """min(η(t)·(1 + S_k), cap), which made the paper's Table I; `shared` is the recommended design."""

    kind: ClassVar[str] = "score"
    needs: ClassVar[frozenset[str]] = frozenset({"scores"})

    cap: float = setting(0.15, "highest scaled rate", gt=0)

    def of_clients(self, moment: Moment, scores: Reals) -> list[float]:
        if not np.isfinite(scores).all():
            raise ValueError("a score is not finite")
        eta = self.eta(moment)
        return [min(eta * (1 + float(score)), self.cap) for score in scores]
