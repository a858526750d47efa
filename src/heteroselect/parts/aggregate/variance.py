"""Weights by how exact each upload is (our own): who could send more counts for more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort
from heteroselect.core.conditions import without_variance
from heteroselect.core.part import Misfit
from heteroselect.core.population import Population
from heteroselect.core.traits import Traits


@dataclass(frozen=True)
class ByVariance:
    """Weighs by a_k ∝ 1/(1 + V_k): V_k is the compressor's variance at the density that client k was given, relative to
    the squared length of an update; 1 is how much clients differ from each other, at most.

    Of all weights with sum 1 these have the least variance, Σ a_k²(1 + V_k), where clients are drawn alike. They are
    fixed before anything is sent, so that the aggregate is unbiased where links have nothing to do with data.

    Use when unbiased compressors run at unequal densities. Beware: where fast links go with certain data, the model
    leans to these.
    """

    kind = "variance"
    traits = Traits(brings={"compress": {"kind": "drive"}})

    def fits(self, parts: Mapping[str, Any]) -> Misfit | None:
        """Why it cannot work with these parts, or None."""
        return without_variance(parts["compress"])

    def weights(self, scores: Reals, cohort: Cohort, population: Population) -> Reals:
        if len(cohort.ids) == 0:
            return np.empty(0)
        if cohort.variances is None:
            raise ValueError("variance weighs by the compressor's variance, and was given none")
        exact = 1 / (1.0 + cohort.variances)
        weights: Reals = exact / exact.sum()
        return weights
