"""One score a client: how informative would it be to hear from it? (section III-B, eq. 1)"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.arrays import Counts, Reals
from heteroselect.moment import Moment
from heteroselect.population import Population
from heteroselect.score.parts import diversity, fairness, loss_informativeness, minmax, staleness
from heteroselect.select.top import candidates


@dataclass(frozen=True)
class Scores:
    """S in [0, 1], and the parts it is made of, of all clients that may be selected: `ids`."""

    ids: Counts
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

    Whose loss? mode `all` asks everybody each round (the paper), and every one of them has to fetch the model for
    it. `candidates` asks so many at random and selects among them. `stale` asks nobody: it takes the mean loss a
    client reported when it last trained, and for the never heard the highest of those, so that they are tried.
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
    mode: Literal["all", "candidates", "stale"] = "all"
    candidates: int = 20
    candidates_by_size: bool = False

    @property
    def needs(self) -> frozenset[str]:
        """A score without V′ needs nobody's loss, and one without D nobody's last upload."""
        loss = {"all": "losses", "candidates": "losses", "stale": "reports"}[self.mode]
        return frozenset(({loss} if self.loss_weight else set()) | ({"uploads"} if self.diversity_weight else set()))

    def asks(self, population: Population, rng: np.random.Generator) -> Counts:
        """Whose loss is asked for this round; the ledger charges for each."""
        everybody = np.arange(len(population))
        if "losses" not in self.needs:
            return everybody[:0]
        if self.mode == "all":
            return everybody
        count = min(self.candidates, len(everybody))
        if self.candidates_by_size:
            return np.sort(candidates(population.sizes, count, rng))
        return np.sort(rng.choice(everybody, count, replace=False))

    def score(self, population: Population, moment: Moment) -> Scores:
        ids = np.arange(len(population))
        if self.mode == "candidates" and self.loss_weight:
            ids = np.flatnonzero(np.isfinite(population.losses))
            population = population.only(ids)
        parts = {
            "loss": loss_informativeness(self._losses(population), self.constant),
            "diversity": diversity(len(population), population.cosines() if self.diversity_weight else {}),
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
        counted = {name: part for name, part in parts.items() if getattr(self, f"{name}_weight")}
        return Scores(ids, minmax(weighted, self.constant), counted)

    def _losses(self, population: Population) -> Reals:
        if not self.loss_weight:
            return np.zeros(len(population))
        if self.mode != "stale":
            return population.losses
        reported = population.reported("loss")
        known = reported[np.isfinite(reported)]
        return np.where(np.isfinite(reported), reported, known.max() if known.size else 0.0)
