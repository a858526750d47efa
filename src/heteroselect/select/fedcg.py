"""The selection of FedCG (Jiang et al., INFOCOM 2023; a reconstruction, see `allocate.fedcg`): representative clients,
near ties to the faster."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.allocate.fedcg import alternate
from heteroselect.arrays import Reals
from heteroselect.select.cohort import Cohort, Situation
from heteroselect.select.facility import newcomers
from heteroselect.select.geometry import distances, gram


@dataclass(frozen=True)
class FedCG:
    """Who, by both steps in turn; `share` is δ/K. How much each sends is then for the allocator, which solves its step
    for the cohort. Before anybody is heard the draw is uniform; `unseen` is as in facility location."""

    average: float = 0.2
    minimum: float = 0.005
    unseen: Literal["mean", "first"] = "mean"

    def select(self, scores: Reals, here: Situation) -> Cohort:
        if here.means is None:
            raise ValueError("this selection goes by links and devices, which its method has to ask for")
        fresh = newcomers(here, self.unseen)
        if fresh is not None:
            return fresh
        table = gram(here.population)
        plan = alternate(
            distances(table),
            np.sqrt(np.diag(table)),
            here.means.computing,
            here.means.sending,
            here.size,
            average=self.average,
            minimum=self.minimum,
        )
        return Cohort(plan.ids, np.ones(len(plan.ids)), share=plan.represented / len(scores))
