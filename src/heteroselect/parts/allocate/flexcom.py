"""FlexCom: a compression of its own for every device. A reconstruction.

Li, Shi, Hou, Li, Pan, Han, "To talk or to work: Flexible communication compression for energy efficient federated
learning over heterogeneous mobile edge devices", INFOCOM 2021, balances what computing and what sending cost over
the whole training. The abstract says so much; the formulas here are ours: a round costs E = C₀ + Σ c_i·θ_i, and
R = A + Σ b_i/θ_i rounds are needed, b_i ∝ p_i²G_i²; the least E·R has θ_i = √((E/R)·b_i/c_i), within bounds.

Cost is counted in seconds here: C₀ those of computing, c_i those of a whole update on client i's link.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.parts.allocate.density import SPARSE, Allocation
from heteroselect.parts.allocate.waterfill import waterfill


@dataclass(frozen=True)
class FlexCom:
    """Sets each client's density by its data, the length of its last update and its link.

    Use when data, updates and links of clients all differ. Beware: the formulas are reconstructed from the paper's
    abstract.
    """

    kind = "flexcom"
    traits = Traits(
        needs={"reports"},
        brings={**SPARSE, "error_feedback": {"kind": "error", "decay": "static", "static": 1.0}},
        carries=("average", "minimum"),
        by_cohort=True,
    )

    average: float = setting(
        0.2, "mean density of the cohort, where rounds is none", gt=0, le=1, tune=(0.005, 0.5, "log")
    )
    rounds: float | None = setting(
        None, "A in units of Σb; none takes the A for which the cohort sends average: all give the same √(b/c)", ge=0
    )
    minimum: float = setting(0.005, "lowest density of a client", gt=0, le=1)

    def allocate(self, scores: Reals, cohort: Cohort, context: SelectionContext) -> Allocation:
        clients, conditions, sizes = len(scores), context.links, context.population.sizes
        needs = (known(sizes / sizes.sum(), clients) * known(context.population.reported("norm"), clients)) ** 2
        costs = conditions.sending
        if self.rounds is None:
            shape = np.sqrt(needs / costs)
            densities = waterfill(shape, self.average * clients, np.ones(clients), self.minimum)
        else:
            base = self.rounds * needs.sum()
            densities = cheapest(costs, needs, float(conditions.computing.sum()), base, self.minimum)
        return Allocation(float(densities.mean()), densities)


def cheapest(costs: Reals, needs: Reals, fixed: float, base: float, low: float, high: float = 1.0) -> Reals:
    """The θ in [low, high] with the least (C₀ + Σcθ)(A + Σb/θ).

    All of them hang on one number, κ = √(E/R): θ_i = clip(κ√(b_i/c_i), low, high). In logarithms the product is
    convex, so there is one such κ.
    """
    if needs.sum() <= 0:
        return np.full(len(costs), low)
    shape = np.sqrt(needs / costs)

    def at(log: float) -> Reals:
        theta: Reals = np.clip(np.exp(log) * shape, low, high)
        return theta

    def gap(log: float) -> float:
        theta = at(log)
        return float(np.log(fixed + costs @ theta) - np.log(base + (needs / theta).sum()) - 2 * log)

    positive = shape[shape > 0]
    least, most = float(np.log(low / positive.max())), float(np.log(high / positive.min()))
    if gap(least) <= 0:
        return at(least)
    if gap(most) >= 0:
        return at(most)
    from scipy.optimize import brentq  # slow to import

    return at(float(brentq(gap, least, most, xtol=1e-14)))


def known(values: Reals | None, clients: int) -> Reals:
    """A client of which it is not known counts as an average one; of nobody known, all are equal."""
    if values is None or not np.isfinite(values).any():
        return np.ones(clients)
    return np.where(np.isfinite(values), values, values[np.isfinite(values)].mean())
