"""What a part of the server is told, what a selector answers, and what came of a round."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.part import FieldError
from heteroselect.core.population import Population
from heteroselect.core.state import PartState
from heteroselect.core.update import Update


@dataclass(frozen=True)
class Cohort:
    """Who takes part: client numbers, in the order drawn. A sum over the cohort, divided by `inclusion`, is an unbiased
    estimate of the sum over all candidates; `share` is the part of all candidates that each stands for, where the
    selection decides it. `tau` is the temperature, if any, and `state` what the selector finds again next round."""

    ids: Counts
    inclusion: Reals
    tau: float | None = None
    share: Reals | None = None
    state: PartState = field(default_factory=dict)
    steps: Counts | None = None
    """Local steps of each, once they are ordered."""
    variances: Reals | None = None
    """How far off each upload is on average, relative to its squared length, where the compressor knows it."""
    enough: int = 0
    """So many answers are waited for, and the rest comes too late; 0: all of them."""

    def only(self, places: Counts) -> "Cohort":
        """Those at some places of `ids`. They stand for the others too: the shares keep their sum."""
        share = None
        if self.share is not None:
            share, present = self.share[places], self.share[places].sum()
            share = share * (self.share.sum() / present) if present > 0 else share
        return replace(
            self,
            ids=self.ids[places],
            inclusion=self.inclusion[places],
            share=share,
            steps=None if self.steps is None else self.steps[places],
            variances=None if self.variances is None else self.variances[places],
        )


@dataclass(frozen=True)
class SelectionContext:
    """Where a part of the server decides. `ids` are the client numbers of the candidates, rising; `population` is what
    is known of them and nobody else: its arrays are aligned with `ids`, and its uploads are keyed by place in `ids`. So
    are `conditions`, which are given to parts that need "links". `size` is how many may be taken, `state` the part's
    own, of the last round."""

    moment: Moment
    ids: Counts
    population: Population
    size: int = 0
    rng: np.random.Generator | None = None
    conditions: Conditions | None = None
    state: PartState = field(default_factory=dict)

    @property
    def random(self) -> np.random.Generator:
        """The generator, or ValueError where none was given."""
        if self.rng is None:
            raise ValueError("this part draws, and was given no generator")
        return self.rng

    @property
    def links(self) -> Conditions:
        """The conditions, or ValueError where none were given."""
        if self.conditions is None:
            raise ValueError('this part goes by links and devices: its `needs` must name "links"')
        return self.conditions

    def cohort(
        self,
        places: Counts,
        inclusion: Reals | None = None,
        *,
        share: Reals | None = None,
        tau: float | None = None,
        state: PartState | None = None,
    ) -> Cohort:
        """The clients at some places of `ids`; without `inclusion` every weight is 1."""
        inclusion = np.ones(len(places)) if inclusion is None else inclusion
        return Cohort(self.ids[places], inclusion, tau, share, {} if state is None else state)


@dataclass(frozen=True)
class Outcome:
    """What came of a round, for parts that learn from it: whose update arrived, the lengths that those clients reported
    (NaN where none), and the aggregate as the server remembers uploads; None where nothing arrived."""

    round: int
    ids: Counts
    theta: float
    norms: Reals
    aggregate: Update | None = None


def checked(cohort: object, allowed_ids: Counts) -> Cohort:
    """A selector's answer, or FieldError where it is none: a selector may be anybody's."""
    if not isinstance(cohort, Cohort):
        raise FieldError("", f"allowed is a Cohort as its answer, not {type(cohort).__name__}.")
    ids = np.asarray(cohort.ids)
    if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer) or len(ids) == 0:
        raise FieldError("", "allowed is an array of one or more whole numbers as ids.")
    if not np.isin(ids, allowed_ids).all() or len(np.unique(ids)) < len(ids):
        raise FieldError(
            "",
            f"it chose {ids.tolist()[:10]}; choose among the {len(allowed_ids)} numbers in context.ids, each once.",
        )
    inclusion = _one_each(cohort.inclusion, "inclusion", len(ids))
    share = None if cohort.share is None else _one_each(cohort.share, "share", len(ids))
    return replace(cohort, ids=ids.astype(np.int64), inclusion=inclusion, share=share)


def among(ids: object, allowed_ids: Counts, what: str) -> Counts:
    """Client numbers that a scorer gave, or FieldError: rising, and of candidates only."""
    found = np.asarray(ids)
    known = found.ndim == 1 and (found.size == 0 or np.issubdtype(found.dtype, np.integer))
    if not known or (np.diff(found) <= 0).any() or not np.isin(found, allowed_ids).all():
        raise FieldError("", f"allowed as {what} are rising client numbers of context.ids.")
    return found.astype(np.int64)


def _one_each(values: Any, name: str, count: int) -> Reals:
    found = np.asarray(values)
    if found.shape != (count,) or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        raise FieldError("", f"allowed is one finite number of {name} for each of {count} ids.")
    return found.astype(np.float64)
