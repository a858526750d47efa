"""The highest scores: power-of-choice (Cho, Wang, Joshi, "Towards understanding biased client selection in federated
learning", AISTATS 2022).

Of d candidates, drawn by the size of their data, who are asked for their loss, the m with the highest loss take part.
The asking is the scorer's business; to the selector the candidates are all there is.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.arrays import Counts, Reals
from heteroselect.select.cohort import Cohort, Situation
from heteroselect.select.uniform import weighted


@dataclass(frozen=True)
class Top:
    """The m highest scores, ties at random. An infinite score goes first: so a client nobody has heard of is tried."""

    def select(self, scores: Reals, here: Situation) -> Cohort:
        if not 1 <= here.size <= len(scores):
            raise ValueError(f"{here.size} clients cannot be taken from {len(scores)}")
        if np.isnan(scores).any():
            raise ValueError("a client's score is not a number")
        order = np.lexsort((here.rng.random(len(scores)), -scores))
        return Cohort(order[: here.size], np.ones(here.size))


def candidates(sizes: Counts, count: int, rng: np.random.Generator) -> Counts:
    """d clients, without replacement and with probability p_k ∝ n_k."""
    return weighted(sizes.astype(np.float64), count, rng).ids
