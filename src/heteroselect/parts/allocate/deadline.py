"""Everybody finishes together (our own): who has the faster link or more time left after training sends more.

With an unbiased compressor, clients may send unequal amounts and still count the same. This is step B of FedCG
(`shortest`) with equal clients, and with the steps that each client is really ordered.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import Brings, setting
from heteroselect.core.traits import Traits
from heteroselect.parts.allocate.density import Allocation
from heteroselect.parts.allocate.fedcg import shortest

UNBIASED: Brings = {"compress": {"kind": "drive"}, "weigh": {"kind": "uniform"}}
"""Unequal amounts bias nothing where each upload is unbiased and all count the same."""


@dataclass(frozen=True)
class Deadline:
    """Lets everybody finish together: θ_k = clip((T − τ_k)/u_k, θ_min, 1), τ_k being the seconds of training and u_k
    those of a whole update. Where the slowest device alone decides about T, the highest densities are lowered to one
    level that meets `average`: of all plans of as many seconds and as many bytes this has the least variance.

    Use when the compressor is unbiased and seconds count. Beware: with biased compressors unequal densities are unequal
    shrinkage.
    """

    kind = "deadline"
    traits = Traits(
        needs={"links"}, brings=UNBIASED, prefers={"compress": "unbiased"}, carries=("average",), by_cohort=True
    )

    average: float = setting(0.2, "mean density of the cohort, where deadline is none", gt=0, le=1)
    deadline: float | None = setting(None, "seconds T until all have sent; none takes the T of average", gt=0)
    minimum: float = setting(0.05, "lowest density of a client, whose variance is about one over it", gt=0, le=1)

    def allocate(self, scores: Reals, cohort: Cohort, context: SelectionContext) -> Allocation:
        working, sending = context.links.working, context.links.whole(self.average)
        if self.deadline is not None:
            densities = np.clip((self.deadline - working) / sending, self.minimum, 1.0)
        else:
            allowed = (1 - self.average) * len(sending)
            _, densities = shortest(working, sending, np.ones(len(sending)), allowed, self.minimum)
        return Allocation(float(densities.mean()), densities)
