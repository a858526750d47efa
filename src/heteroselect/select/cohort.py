"""What a selector is told, and what it answers."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heteroselect.allocate.density import Means
from heteroselect.arrays import Counts, Reals
from heteroselect.compress.memory import Kept
from heteroselect.errors import HeteroSelectError
from heteroselect.moment import Moment
from heteroselect.population import Population


@dataclass(frozen=True)
class Cohort:
    """Who takes part, in the order drawn: places in the list of scores, as the selector sees it.

    `inclusion` are the weights that make a sum over the cohort, divided by them, an unbiased estimate of the sum
    over all clients; `tau` is the temperature, if any. `share` is how much each speaks for, where the selection
    itself says so. `state` is what the selector wants to find again next round.
    """

    ids: Counts
    inclusion: Reals
    tau: float | None = None
    share: Reals | None = None
    state: Kept = field(default_factory=dict)
    steps: Counts | None = None
    """Local steps of each, once they are ordered."""

    def only(self, places: Counts) -> "Cohort":
        """Some of them. What the others would have spoken for, these speak for: the shares keep their sum."""
        share = None
        if self.share is not None:
            share, heard = self.share[places], self.share[places].sum()
            share = share * (self.share.sum() / heard) if heard > 0 else share
        steps = None if self.steps is None else self.steps[places]
        return replace(self, ids=self.ids[places], inclusion=self.inclusion[places], share=share, steps=steps)


def checked(cohort: object, clients: int) -> Cohort:
    """A selector may be anybody's: what it answers is looked at before it is followed."""
    if not isinstance(cohort, Cohort):
        raise HeteroSelectError(f"method.select: allowed is a Cohort as its answer, not {type(cohort).__name__}.")
    ids = np.asarray(cohort.ids)
    if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer) or len(ids) == 0:
        raise HeteroSelectError("method.select: allowed is an array of one or more whole numbers as ids.")
    if ids.min() < 0 or ids.max() >= clients or len(np.unique(ids)) < len(ids):
        raise HeteroSelectError(
            f"method.select: it chose {ids.tolist()[:10]}; allowed are places from 0 to {clients - 1}, each once."
        )
    inclusion = _one_each(cohort.inclusion, "inclusion", len(ids))
    share = None if cohort.share is None else _one_each(cohort.share, "share", len(ids))
    return replace(cohort, ids=ids, inclusion=inclusion, share=share)


def _one_each(values: Any, name: str, count: int) -> Reals:
    found = np.asarray(values)
    if found.shape != (count,) or found.dtype.kind not in "iuf":
        raise HeteroSelectError(f"method.select: allowed is one number of {name} for each of {count} ids.")
    return found.astype(np.float64)


@dataclass(frozen=True)
class Situation:
    """Where a selector stands: how many it may take, the round, and randomness of its own; what the server knows of
    those who may be selected; their links and devices, where the method asked for them; and what it noted itself."""

    size: int
    moment: Moment
    rng: np.random.Generator
    population: Population
    means: Means | None = None
    state: Kept = field(default_factory=dict)
