"""DELTA (Wang et al., "DELTA: Diverse client sampling for fasting federated learning", NeurIPS 2023).

Client i is drawn, with replacement, with p_i ∝ w_i·√(α₁‖∇F_i − ∇f‖² + α₂σ_i²), w_i its part of all data (as in the
authors' code). Practical version: gradients are the last uploads, ∇f the mean of the last participants', and after a
round only the participants' probabilities move. σ_i² is that of the gradients of a client's batches along its local
steps, where `variance` asks for it (a number per client and round, which the ledger charges); else it counts as nought.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.population import Population
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import apart
from heteroselect.parts.select.by_client import recalled
from heteroselect.parts.select.draws import tally
from heteroselect.parts.select.geometry import SKETCH


@dataclass(frozen=True)
class Delta:
    """Draws those more often who differ or are noisy, with a lower weight each time.

    α₁ and α₂ matter by their ratio only, so α₁ is 1 here; α₂/α₁ ≈ 1/(4H) in the paper, and the default is for H = 50.
    σ² is what clients report as `variance`, in the units of an update: (Σ‖g‖²/H − ‖ḡ‖²)·‖Δ‖²/‖ḡ‖².

    Use when clients differ much, and an unbiased draw is to have little variance. Beware: a client that is seldom drawn
    counts for much when it is.
    """

    kind = "delta"

    noise: float = setting(0.005, "weight α₂ of the reported variance", ge=0, tune=(5e-4, 0.5, "log"))
    floor: float = setting(
        1e-4, "no probability falls below floor/K, and no client counts for more than K/floor",
        ge=0, le=1, tune=(1e-4, 1, "log"),
    )  # fmt: skip
    sketch: int = setting(0, SKETCH, ge=0)
    variance: bool = setting(False, "whether clients report the variance σ² of their gradients; else it is 0")

    @property
    def traits(self) -> Traits:
        """Without a reported variance its weight changes nothing."""
        needs, untuned = ({"uploads", "variance"}, set[str]()) if self.variance else ({"uploads"}, {"noise"})
        return Traits(needs, brings={"weigh": {"kind": "share"}}, untuned=untuned, shares=True)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        population, clients, size = context.population, len(context.ids), context.size
        chances = chances_of(context.state, context.ids)
        data = population.sizes / population.sizes.sum()
        last = participants(population)
        if len(last):
            variance = np.nan_to_num(population.reported("variance")[last])
            spread = np.sqrt(apart([population.uploads[int(k)] for k in last]) + self.noise * variance)
            chances = floored(moved(chances, last, data[last] * spread), self.floor / clients)
        draws = context.random.choice(clients, size, p=chances)
        drawn = tally(draws, data / (size * chances), 1 - (1 - chances) ** size)
        state = kept(context.state, context.ids, chances)
        return context.cohort(drawn.places, drawn.inclusion, share=drawn.share, state=state)


def chances_of(state: PartState, ids: Counts) -> Reals:
    """The candidates' probabilities of the last round, brought to a sum of 1; a new client counts as an average one."""
    clients, kept = recalled(state, ids, probabilities=1 / len(ids))
    chances = kept["probabilities"][np.searchsorted(clients, ids)]
    known = "clients" in state and not np.array_equal(state["clients"], ids)
    return chances / chances.sum() if known else chances


def kept(state: PartState, ids: Counts, chances: Reals) -> PartState:
    """The new state: whoever was no candidate keeps its probability, and the candidates share the rest."""
    away = np.setdiff1d(state.get("clients", ids), ids)
    if len(away) == 0:
        return {"clients": ids, "probabilities": chances}
    theirs = state["probabilities"][np.isin(state["clients"], away)]
    order = np.argsort(np.concatenate([away, ids]))
    return {
        "clients": np.concatenate([away, ids])[order],
        "probabilities": np.concatenate([theirs, chances * (1 - theirs.sum())])[order],
    }


def participants(population: Population) -> Counts:
    """The places of those of the last round whose update arrived."""
    last = population.last_round.max(initial=0)
    ids = np.flatnonzero((population.answered == last) & (last > 0))
    return np.array([k for k in ids if int(k) in population.uploads], np.int64)


def moved(chances: Reals, ids: Counts, spread: Reals) -> Reals:
    """The participants share their mass anew, as s_i/Σs, and nobody else's moves; without any spread none does."""
    if spread.sum() <= 0:
        return chances
    found = chances.copy()
    found[ids] = spread / spread.sum() * chances[ids].sum()
    return found


def floored(chances: Reals, floor: float) -> Reals:
    """At least `floor` for everybody, taken in proportion from what others have above it."""
    above = np.maximum(chances - floor, 0.0)
    return floor + above / above.sum() * (1 - floor * len(chances)) if above.sum() > 0 else chances
