"""One score per client: how informative would its update be? (section III-B, eq. 1)"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Outcome, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.population import Population
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.parts.score.parts import cosines, diversity, fairness, minmax, staleness
from heteroselect.parts.score.scores import Scores
from heteroselect.parts.select.draws import weighted
from heteroselect.parts.select.geometry import SKETCH

KEEP = 0.9  # what the consensus keeps each round


@dataclass(frozen=True)
class Informativeness:
    """Scores a client by S = min-max of V′ + λ_D·D + λ_F·F′ + λ_St·St′, in [0, 1].

    `constant` and `fairness_start` are undefined in the text. The loss is read on a fixed subset of a client's data.
    Mode `stale` asks nobody for it: it takes the mean loss that a client reported when it last trained, and for those
    without a report the highest of these, so that they are tried.

    Use when selection, densities or weights are to follow how much a client can still teach. Beware: mode `all` sends
    the model to every client in every round, which the ledger charges.
    """

    kind = "informativeness"

    loss_weight: float = setting(1.0, "weight of the loss V′ in the score (eq. 1); 0 leaves it out", ge=0)
    diversity_weight: float = setting(0.3, "weight λ_D of the update's distance from the consensus", ge=0)
    fairness_weight: float = setting(0.2, "weight λ_F of having been selected seldom", ge=0)
    staleness_weight: float = setting(0.2, "weight λ_St of having been selected long ago", ge=0)
    constant: float = setting(0.5, "value of a part where all clients are alike (the authors': 1)", ge=0, le=1)
    fairness_start: float = setting(0.0, "fairness F′ before anyone was selected (the authors': 1)", ge=-1, le=1)
    raw_staleness: bool = setting(False, "whether a constant staleness St′ stays unscaled, as in the authors' logs")
    batches: int = setting(8, "number of mini-batches that the loss is read on", ge=1)
    augmented: bool = setting(False, "whether the loss is read on augmented training data (the authors')")
    mode: Literal["all", "candidates", "stale"] = setting(
        "all", "losses that count: of all, asked each round (the paper), of candidates drawn, or those last reported"
    )
    candidates: int = setting(20, "number of clients that mode candidates asks", ge=1, tune=(10, 60, "log"))
    candidates_by_size: bool = setting(False, "whether candidates are drawn by their number of examples")
    sketch: int = setting(0, SKETCH, ge=0)

    @property
    def traits(self) -> Traits:
        """A score without V′ needs no loss, and one without D no upload; `candidates` counts in its own mode only."""
        loss = {"all": "losses", "candidates": "losses", "stale": "reports"}[self.mode]
        needs = ({loss} if self.loss_weight else set()) | ({"uploads"} if self.diversity_weight else set())
        return Traits(needs, untuned=set() if self.mode == "candidates" else {"candidates"})

    def asks(self, context: SelectionContext) -> Counts:
        """The clients whose loss is asked for this round; the ledger charges for each."""
        if "losses" not in self.traits.needs:
            return context.ids[:0]
        if self.mode == "all":
            return context.ids
        count = min(self.candidates, len(context.ids))
        if self.candidates_by_size:
            sizes = context.population.sizes.astype(np.float64)
            return np.sort(context.ids[weighted(sizes, count, context.random).places])
        return np.sort(context.random.choice(context.ids, count, replace=False))

    def score(self, context: SelectionContext) -> Scores:
        ids, population = context.ids, context.population
        if self.mode == "candidates" and self.loss_weight:
            places = np.flatnonzero(np.isfinite(population.losses))
            ids, population = ids[places], population.only(places)
        compared = cosines(population.uploads, context.state.get("consensus")) if self.diversity_weight else {}
        parts = {
            "loss": minmax(self._losses(population), self.constant),
            "diversity": diversity(len(population), compared),
            "fairness": fairness(population.counts, self.fairness_start),
            "staleness": staleness(
                context.moment.round, population.last_round, constant=None if self.raw_staleness else self.constant
            ),
        }
        weights = {name: getattr(self, f"{name}_weight") for name in parts}
        total = sum(weights[name] * part for name, part in parts.items())
        return Scores(ids, minmax(total, self.constant), {name: part for name, part in parts.items() if weights[name]})

    def learn(self, state: PartState, outcome: Outcome) -> PartState:
        """Δ̄ ← 0.9·Δ̄ + 0.1·aggregate; the first aggregate is taken as it is."""
        if not self.diversity_weight or outcome.aggregate is None:
            return state
        aggregate = outcome.aggregate.values if outcome.aggregate.is_dense else outcome.aggregate.dense()
        if "consensus" not in state:
            return {"consensus": aggregate.copy()}
        return {"consensus": np.float32(KEEP) * state["consensus"] + np.float32(1 - KEEP) * aggregate}

    def _losses(self, population: Population) -> Reals:
        if not self.loss_weight:
            return np.zeros(len(population))
        if self.mode != "stale":
            return population.losses
        reported = population.reported("loss")
        known = reported[np.isfinite(reported)]
        return np.where(np.isfinite(reported), reported, known.max() if known.size else 0.0)
