"""Normalised averaging: FedNova (Wang et al., "Tackling the objective inconsistency problem in heterogeneous federated
optimization", NeurIPS 2020).

Clients that take more steps than others would pull the model to their own optimum. Each update is therefore divided
by how far its client's steps reach, and the average multiplied by how far they reach on average.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.arrays import Counts, Reals
from heteroselect.population import Population
from heteroselect.select.cohort import Cohort


@dataclass(frozen=True)
class Normalised:
    """The weigher: data sizes, each update divided by how far its client's steps reach."""

    momentum: float = 0.0

    def of(self, scores: Reals, cohort: Cohort, population: Population) -> Reals:
        sizes = population.sizes[cohort.ids]
        if cohort.steps is None or len(sizes) == 0:
            data: Reals = sizes / max(1, sizes.sum())
            return data
        return normalised(sizes, np.array([reach(int(steps), self.momentum) for steps in cohort.steps]))


def reach(steps: int, momentum: float = 0.0, pull: float = 0.0) -> float:
    """‖a‖₁: how far `steps` steps move by a constant gradient of 1, in units of the rate η.

    Plain SGD gives τ; momentum ρ gives Σ_j (1 − ρ^j)/(1 − ρ); a proximal term, with `pull` = ημ, gives
    a ← (1 − ημ)a + 1. With both it is the recursion of the local solver itself.

    >>> round(reach(5, momentum=0.9), 3)
    13.144
    """
    velocity = moved = 0.0
    for _ in range(steps):
        velocity = momentum * velocity + 1 - pull * moved
        moved += velocity
    return moved


def effective(data: Reals, reached: Reals) -> float:
    """τ_eff = Σ p_k ‖a_k‖₁; with a proximal term the paper takes the number of steps for ‖a_k‖₁ here."""
    return float(data @ reached)


def normalised(sizes: Counts, reached: Reals, steps: Reals | None = None) -> Reals:
    """Weights τ_eff·p_k/‖a_k‖₁ of the updates Δ_k; a client that took no step has no say.

    `steps` take the place of the reaches in τ_eff, as the paper does where there is a proximal term.
    """
    moved = reached > 0
    if not moved.any():
        return np.zeros(len(sizes))
    data = np.where(moved, sizes, 0) / sizes[moved].sum()
    scale = effective(data, reached if steps is None else steps)
    weights: Reals = scale * data / np.where(moved, reached, 1.0)
    return weights
