"""FedBand (Alanazi, Fahim, Ibnath, Guler, Roy-Chowdhury, Swami, Papalexakis, Krishnamurthy, "FedBand: Adaptive
federated learning with bandwidth constraints", ICCCN 2025). A reconstruction.

Clients whose updates deviate more from the global model send more, and those who deviate little defer. The abstract
says so much; the rule here is ours.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.population import Population
from heteroselect.core.traits import Traits
from heteroselect.core.update import apart
from heteroselect.parts.allocate.density import SPARSE, Allocation
from heteroselect.parts.allocate.waterfill import waterfill
from heteroselect.parts.select.geometry import SKETCH

DEFER = 0.3  # part of the cohort that defers, rounded down


@dataclass(frozen=True)
class FedBand:
    """Gives more to clients that deviate: whose last upload is far from the mean of the cohort's. A client without one
    counts as an average one. Those who deviate least defer: they send `minimum` and keep the rest in their memory. The
    others share what is left of the budget in proportion to their deviations.

    Use when some clients have little new to say in a round. Beware: it is reconstructed from an abstract, and needs a
    memory for what is deferred.
    """

    kind = "fedband"
    traits = Traits(needs={"uploads"}, brings=SPARSE, carries=("average", "minimum"), by_cohort=True)

    average: float = setting(0.2, "mean density of a cohort", gt=0, le=1, tune=(0.005, 0.5, "log"))
    minimum: float = setting(0.005, "density of those who defer, and the lowest of all", gt=0, le=1)
    sketch: int = setting(0, SKETCH, ge=0)

    def allocate(self, scores: Reals, cohort: Cohort, context: SelectionContext) -> Allocation:
        away = deviations(context.population)
        return Allocation(self.average, banded(away, self.average, self.minimum))


def deviations(population: Population) -> Reals:
    """How far each one's last upload is from the mean of all; the mean distance where there is none."""
    known = sorted(population.uploads)
    if not known:
        return np.zeros(len(population))
    away = np.sqrt(apart([population.uploads[k] for k in known]))
    found = np.full(len(population), away.mean())
    found[known] = away
    return found


def banded(away: Reals, average: float, minimum: float) -> Reals:
    """Densities of `average` on average: the least for those who deviate least, as many as `DEFER` allows; the others
    by how far they deviate. Who ties with somebody who sends does not defer."""
    count = int(DEFER * len(away) + 1e-9)
    sends = away >= np.sort(away)[count]
    found = np.full(len(away), minimum)
    left = average * len(away) - minimum * np.count_nonzero(~sends)
    shares = away[sends] if away[sends].sum() > 0 else np.ones(np.count_nonzero(sends))
    found[sends] = waterfill(shares, left, np.ones(len(shares)), minimum)
    return found
