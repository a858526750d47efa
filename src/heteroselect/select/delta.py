"""DELTA (Wang et al., "DELTA: Diverse client sampling for fasting federated learning", NeurIPS 2023).

Client i is drawn, with replacement, with p_i ∝ √(α₁‖∇F_i − ∇f‖² + α₂σ_i²): those who differ and those who are noisy
are heard more often, and more softly. Practical version: gradients are the last uploads, ∇f the mean of the last
participants', and after a round only the participants' probabilities move.
"""

from dataclasses import dataclass, replace

import numpy as np

from heteroselect.arrays import Counts, Reals
from heteroselect.compress.update import dot
from heteroselect.population import Population
from heteroselect.select.cohort import Cohort, Situation
from heteroselect.select.uniform import tally


@dataclass(frozen=True)
class Delta:
    """α₁ and α₂ matter by their ratio only, α₂/α₁ ≈ 1/(4H) in the paper; here it is for H = 50 local steps.

    σ² is what clients report as `variance`, in units of an update; who reports none counts as without noise.
    """

    diversity: float = 1.0
    noise: float = 0.005
    floor: float = 1e-4
    """No probability falls below floor/K, so that no client ever speaks louder than K/floor."""

    def select(self, scores: Reals, here: Situation) -> Cohort:
        population, clients, size = here.population, len(scores), here.size
        chances = here.state.get("probabilities", np.full(clients, 1 / clients))
        last = participants(population)
        if len(last):
            variance = np.nan_to_num(population.reported("variance")[last])
            spread = np.sqrt(self.diversity * apart(population, last) + self.noise * variance)
            chances = floored(moved(chances, last, spread), self.floor / clients)
        draws = here.rng.choice(clients, size, p=chances)
        data = population.sizes / population.sizes.sum()
        cohort = tally(draws, data / (size * chances), 1 - (1 - chances) ** size)
        return replace(cohort, state={"probabilities": chances})


def participants(population: Population) -> Counts:
    """Those of the last round who were heard."""
    last = population.last_round.max(initial=0)
    ids = np.flatnonzero((population.last_round == last) & (last > 0))
    return np.array([k for k in ids if int(k) in population.uploads], np.int64)


def apart(population: Population, ids: Counts) -> Reals:
    """‖∇F_i − ∇f‖² of some clients, ∇f being their mean."""
    updates = [population.uploads[int(k)] for k in ids]
    mean = np.zeros(updates[0].size, np.float32)
    for update in updates:
        update.add_to(mean, 1 / len(updates))
    length = dot(mean, mean)
    squares: Reals = np.array([update.norm() ** 2 - 2 * update.dot(mean) + length for update in updates])
    return squares.clip(min=0.0)


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
    found: Reals = floor + above / above.sum() * (1 - floor * len(chances)) if above.sum() > 0 else chances
    return found
