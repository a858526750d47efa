"""Power-of-choice (Cho, Wang, Joshi, "Towards understanding biased client selection in federated learning",
AISTATS 2022): of d candidates, drawn by the size of their data and asked for their loss, the m with the highest loss.

Drawing and asking the candidates is the scorer's (`mode` candidates); here they are all there is.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.traits import Traits

LOSS_ALONE = {"kind": "informativeness", "diversity_weight": 0.0, "fairness_weight": 0.0, "staleness_weight": 0.0}
"""A score that ranks clients as their losses do."""


@dataclass(frozen=True)
class PowerOfChoice:
    """Takes the m highest scores, with ties at random. A score of infinity goes first, so that a scorer can have a
    client tried of which nothing is known.

    Use when clients with a high loss are to catch up. Beware: it favours clients whose data are hard or noisy, which
    biases the model.
    """

    kind = "power-of-choice"
    traits = Traits(
        needs={"scores"},
        brings={
            "score": {**LOSS_ALONE, "mode": "candidates", "candidates": 20, "candidates_by_size": True},
            "weigh": {"kind": "uniform"},
        },
    )

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        if np.isnan(scores).any():
            raise ValueError("a client's score is not a number")
        order = np.lexsort((context.random.random(len(scores)), -scores))
        return context.cohort(order[: context.size])
