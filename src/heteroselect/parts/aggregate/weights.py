"""How much does each client's update count? Its weight a_k in the aggregate (eq. 13).

The cohort is of those whose updates arrived, the population of all clients.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort
from heteroselect.core.part import FieldError, setting
from heteroselect.core.population import Population
from heteroselect.core.traits import Traits, traits_of


@dataclass(frozen=True)
class ByData:
    """Weighs by n_k/Σn over those whose updates arrived (FedAvg: McMahan et al., AISTATS 2017).

    Use when examples are to count the same. Beware: clients with much data dominate.
    """

    kind = "data"

    def weights(self, scores: Reals, cohort: Cohort, population: Population) -> Reals:
        return _normalised(population.sizes[cohort.ids].astype(np.float64))


@dataclass(frozen=True)
class Equal:
    """Weighs every client the same; the ablation of eq. 13.

    Use when clients are to count the same, or a correction of drift needs it. Beware: small clients count as much as
    large ones.
    """

    kind = "uniform"

    def weights(self, scores: Reals, cohort: Cohort, population: Population) -> Reals:
        return _normalised(np.ones(len(cohort.ids)))


@dataclass(frozen=True)
class ByScore:
    """Weighs by S_k/ΣS (eq. 13).

    Use when the paper's runs are to be reproduced. Beware: a score that also selects counts twice, and a client with
    score 0 counts for nothing.
    """

    kind = "score"
    traits = Traits(needs={"scores"}, brings={"score": {"kind": "informativeness"}})

    floor: float = setting(0.0, "share of the highest score that is added to every score before weighing", ge=0)
    ceiling: float = setting(1.0, "largest weight per client; what is above it is shared among the others", gt=0, le=1)

    def weights(self, scores: Reals, cohort: Cohort, population: Population) -> Reals:
        if not np.isfinite(scores).all() or (scores < 0).any():
            raise ValueError("scores have to be finite and not negative to weigh by them")
        return _capped(_normalised(scores + self.floor * scores.max(initial=0.0)), self.ceiling)


@dataclass(frozen=True)
class Inverse:
    """Weighs in proportion to one over the inclusion weight, so that the preference of the selection is undone
    (normalised, so with a small bias left).

    Use when the selection prefers some clients and the model should not. Beware: rarely drawn clients get large
    weights, which is noise.
    """

    kind = "inverse"

    def weights(self, scores: Reals, cohort: Cohort, population: Population) -> Reals:
        return _normalised(1 / cohort.inclusion)


@dataclass(frozen=True)
class OneOfAll:
    """Weighs 1/K each: as one of all clients, and not of those present (EF21, whose server sums over all).

    Use when the error feedback is `ef21`. Beware: it is refused with any other.
    """

    kind = "everybody"
    traits = Traits(
        brings={"error_feedback": {"kind": "ef21"}, "server_optimizer": {"kind": "running"}},
        requires={"error_feedback": ("ef21",)},
    )

    def weights(self, scores: Reals, cohort: Cohort, population: Population) -> Reals:
        return np.full(len(cohort.ids), 1 / len(population))


@dataclass(frozen=True)
class ByShare:
    """Weighs by what the selection says that each client stands for; the sum is the selection's too.

    Use when the selection says so, and the aggregate is to be unbiased. Beware: weights need not add up to 1, so that
    steps vary in length.
    """

    kind = "share"
    traits = Traits(by_cohort=True)

    def fits(self, parts: Mapping[str, Any]) -> str | None:
        """Why it cannot work with these parts, or None."""
        select, again = parts["select"], getattr(parts["second_selection"], "kind", "") != "none"
        # of a user's own selector it is known only once it has answered
        if again or traits_of(select).shares or not hasattr(select, "kind"):
            return None
        return f"is allowed with a selection that says what each client stands for, such as balanced, not {select.kind}"

    def weights(self, scores: Reals, cohort: Cohort, population: Population) -> Reals:
        if cohort.share is None and len(cohort.ids):
            raise FieldError("kind", "share is allowed where the selection says how much each client stands for")
        return np.empty(0) if cohort.share is None else cohort.share


def _capped(weights: Reals, ceiling: float) -> Reals:
    """None above the ceiling, or above 1/n where that is more; the others keep their ratios as far as they can.

    >>> _capped(np.array([0.7, 0.2, 0.1]), 0.4).round(9).tolist()
    [0.4, 0.4, 0.2]
    """
    ceiling = max(ceiling, 1 / max(1, len(weights)))
    while (weights > ceiling * (1 + 1e-12)).any():
        high = weights >= ceiling
        rest = 1 - ceiling * high.sum()
        low = weights[~high].sum()
        spread = rest / (~high).sum() if low < 1e-12 else weights * (rest / low)  # next to nothing to go by
        weights = np.where(high, ceiling, spread)
    return weights


def _normalised(weights: Reals) -> Reals:
    """The weights with sum 1; the same for each where there is next to nothing to go by."""
    if len(weights) == 0:
        return weights
    total = weights.sum()
    return weights / total if total > 1e-8 else np.full(len(weights), 1 / len(weights))
