"""How loudly does each client speak? Its weight in the aggregate (eq. 13)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.arrays import Reals
from heteroselect.errors import HeteroSelectError
from heteroselect.population import Population
from heteroselect.select.cohort import Cohort


@dataclass(frozen=True)
class ClientWeights:
    """rule `score` is eq. 13, `uniform` its ablation, `inverse` weighs each client by one over its inclusion
    weight, so that the preference of the selection is undone (normalised, so with a small bias left). `everybody`
    gives each 1/K, as one of all clients and not of those present (EF21). `data` is FedAvg's n_k/Σn over those heard
    (McMahan et al., AISTATS 2017), `share` what the selection itself says that each speaks for.

    `floor` δ adds δ·max S to every score: a client that was asked is then never asked in vain.
    """

    rule: Literal["score", "uniform", "inverse", "everybody", "data", "share"] = "score"
    floor: float = 0.0

    def of(self, scores: Reals, cohort: Cohort, population: Population) -> Reals:
        """Of those whose updates are in: `cohort`, by their numbers in the population."""
        if len(scores) == 0:
            return scores
        if self.rule == "everybody":
            return np.full(len(scores), 1 / len(population))
        if self.rule == "share":
            if cohort.share is None:
                raise HeteroSelectError(
                    "method.aggregate.weights: share is allowed where the selection says whom each client speaks for."
                )
            return cohort.share
        if self.rule == "data":
            return _normalised(population.sizes[cohort.ids].astype(np.float64))
        if self.rule == "score":
            return _normalised(scores + self.floor * scores.max())
        if self.rule == "inverse":
            return _normalised(1 / cohort.inclusion)
        return _normalised(np.ones(len(scores)))


def _normalised(weights: Reals) -> Reals:
    total = weights.sum()
    return weights / total if total > 1e-8 else np.full(len(weights), 1 / len(weights))
