"""Normalised averaging: FedNova (Wang, Liu, Liang, Joshi, Poor, "Tackling the objective inconsistency problem in
heterogeneous federated optimization", NeurIPS 2020).

Clients that take more steps than others would pull the model to their own optimum. Each update is therefore divided
by how far its client's steps reach, and the average multiplied by how far they reach on average.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort
from heteroselect.core.part import setting
from heteroselect.core.population import Population
from heteroselect.core.traits import Traits


@dataclass(frozen=True)
class FedNova:
    """Weighs by data sizes, each update divided by how far its client's steps reach. The weights need not add up to 1.

    Use when clients take unequal numbers of steps. Beware: a proximal pull or another solver changes how far steps
    reach.
    """

    kind = "fednova"
    traits = Traits(brings={"local_steps": {"kind": "device"}})

    momentum: float = setting(0.9, "momentum of the local SGD, by which the reach of its steps is reckoned", ge=0, lt=1)

    def fits(self, parts: Mapping[str, Any]) -> str | None:
        """Why it cannot work with these parts, or None."""
        solver = parts["solver"]
        if getattr(solver, "proximal", 0.0):
            return "is allowed with method.solver.proximal 0 only, for which its weights are made"
        momentum = getattr(solver, "momentum", 0.0)
        return (
            None if momentum == self.momentum else f"must have the momentum of the local solver, which is {momentum:g}"
        )

    def weights(self, scores: Reals, cohort: Cohort, population: Population) -> Reals:
        sizes = population.sizes[cohort.ids]
        if cohort.steps is None or len(sizes) == 0:
            data: Reals = sizes / max(1, sizes.sum())
            return data
        return normalised(sizes, np.array([reach(int(steps), self.momentum) for steps in cohort.steps]))


def reach(steps: int, momentum: float = 0.0) -> float:
    """‖a‖₁: how far `steps` steps move by a constant gradient of 1, in units of the rate η. Plain SGD gives τ, momentum
    ρ gives Σ_j (1 − ρ^j)/(1 − ρ).

    >>> round(reach(5, momentum=0.9), 3)
    13.144
    """
    velocity = moved = 0.0
    for _ in range(steps):
        velocity = momentum * velocity + 1
        moved += velocity
    return moved


def normalised(sizes: Counts, reached: Reals) -> Reals:
    """Weights τ_eff·p_k/‖a_k‖₁ of the updates Δ_k, τ_eff = Σ p_k‖a_k‖₁; a client that took no step counts nothing."""
    moved = reached > 0
    if not moved.any():
        return np.zeros(len(sizes))
    data = np.where(moved, sizes, 0) / sizes[moved].sum()
    scale = float(data @ reached)
    weights: Reals = scale * data / np.where(moved, reached, 1.0)
    return weights
