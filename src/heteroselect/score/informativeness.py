"""One score a client: how informative would it be to hear from it? (section III-B, eq. 1)"""

from dataclasses import dataclass

import numpy as np

from heteroselect.moment import Moment
from heteroselect.population import Population, Reals
from heteroselect.score.parts import diversity, fairness, loss_informativeness, minmax, staleness


@dataclass(frozen=True)
class Scores:
    """S in [0, 1] of every client, and the parts it is made of."""

    total: Reals
    parts: dict[str, Reals]

    def __post_init__(self) -> None:
        if not np.isfinite(self.total).all():
            raise ValueError("a client's score is not finite")


@dataclass(frozen=True)
class Informativeness:
    """S = min-max of V′ + λ_D·D + λ_F·F′ + λ_St·St′.

    `constant` is the value of a min-max without spread and `fairness_start` F′ before anyone was
    selected: undefined in the text. `raw_staleness` leaves a constant St′ unscaled, as the authors' logs do.
    The loss is read on up to `batches` mini-batches, a fixed subset; `augmented` reads it through the shuffled
    training data instead, which makes the score noisy (the authors' runs).
    """

    loss_weight: float = 1.0
    diversity_weight: float = 0.3
    fairness_weight: float = 0.2
    staleness_weight: float = 0.2
    staleness_gamma: float = 0.5
    constant: float = 0.5
    fairness_start: float = 0.0
    raw_staleness: bool = False
    batches: int = 8
    augmented: bool = False

    @property
    def needs(self) -> frozenset[str]:
        """A score without V′ asks nobody for a loss, and nobody is charged for it."""
        return frozenset({"losses", "uploads"} if self.loss_weight else {"uploads"})

    def score(self, population: Population, moment: Moment) -> Scores:
        known = bool(np.isfinite(population.losses).all()) or self.loss_weight > 0
        parts = {
            "loss": loss_informativeness(population.losses if known else np.zeros(len(population)), self.constant),
            "diversity": diversity(len(population), population.cosines()),
            "fairness": fairness(population.counts, self.fairness_start),
            "staleness": staleness(
                moment.round,
                population.last_round,
                self.staleness_gamma,
                None if self.raw_staleness else self.constant,
            ),
        }
        weighted = (
            self.loss_weight * parts["loss"]
            + self.diversity_weight * parts["diversity"]
            + self.fairness_weight * parts["fairness"]
            + self.staleness_weight * parts["staleness"]
        )
        return Scores(minmax(weighted, self.constant), parts)
