"""FlexCom: a compression of its own for every device. A reconstruction.

Li, Shi, Hou, Li, Pan, Han, "To talk or to work: Flexible communication compression for energy efficient federated
learning over heterogeneous mobile edge devices", INFOCOM 2021, balances what computing and what sending cost over
the whole training. The abstract says so much; the formulas here are ours: a round costs E = C₀ + Σ c_i·θ_i, and
R = A + Σ b_i/θ_i rounds are needed, b_i ∝ p_i²G_i²; the least E·R has θ_i ∝ √(b_i/c_i) within bounds, whatever A is.
Taken are those with the stated mean. c_i are the seconds of a whole update on client i's link.
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

    average: float = setting(0.2, "mean density of the cohort", gt=0, le=1, tune=(0.005, 0.5, "log"))
    minimum: float = setting(0.005, "lowest density of a client", gt=0, le=1)

    def allocate(self, scores: Reals, cohort: Cohort, context: SelectionContext) -> Allocation:
        clients, sizes = len(scores), context.population.sizes
        needs = (sizes / sizes.sum() * known(context.population.reported("norm"))) ** 2
        shape = np.sqrt(needs / context.links.sending)
        densities = waterfill(shape, self.average * clients, np.ones(clients), self.minimum)
        return Allocation(float(densities.mean()), densities)


def known(values: Reals) -> Reals:
    """The values, and their mean for clients of which none is known; of nobody known, all are 1."""
    given = np.isfinite(values)
    return np.where(given, values, values[given].mean() if given.any() else 1.0)
