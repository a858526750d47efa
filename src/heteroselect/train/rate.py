"""The local learning rate: one decaying schedule shared by all (eq. 12), or scaled by the score."""

from dataclasses import dataclass
from typing import Literal

from heteroselect.arrays import Reals
from heteroselect.moment import Moment


@dataclass(frozen=True)
class Rate:
    """η(t) = η₀(1 − 0.5·min(t/T, 1)).

    rule `shared` is the recommended design; `score` is min(η(1 + S_k), cap), which made Table I.
    """

    start: float = 0.05
    decay: float = 0.5
    rule: Literal["shared", "score"] = "shared"
    cap: float = 0.15

    def eta(self, moment: Moment) -> float:
        return self.start * (1 - self.decay * moment.progress)

    def of_clients(self, moment: Moment, scores: Reals) -> list[float]:
        eta = self.eta(moment)
        if self.rule == "shared":
            return [eta] * len(scores)
        return [min(eta * (1 + float(score)), self.cap) for score in scores]
