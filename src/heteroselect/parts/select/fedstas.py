"""FedSTaS (Slessor, Kong, Tang, Than, Kong, "FedSTaS: Client stratification and client level sampling for efficient
federated learning", 2024): clients fall into strata by their updates, strata that are large and diverse send more
clients (Neyman), and within a stratum clients with long updates are drawn rather than others.

The server goes by the last uploads, so that nobody has to send anything for it. A stratum's diversity is the deviation,
as Neyman's rule has it; the authors' code takes its square.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.parts.select.divfl import newcomers
from heteroselect.parts.select.draws import weighted
from heteroselect.parts.select.geometry import SKETCH, gram


@dataclass(frozen=True)
class FedSTaS:
    """Draws from strata of clients with similar uploads. In `share` a stratum counts by the number of its clients, and
    those drawn from it share that equally.

    Use when uploads fall into clear groups. Beware: the strata are only as good as the last uploads that they are made
    of.
    """

    kind = "fedstas"
    traits = Traits(needs={"uploads"}, brings={"weigh": {"kind": "share"}}, shares=True)

    strata: int = setting(5, "number of strata H; never more than clients are selected", ge=1, tune=(2, 10, "log"))
    sketch: int = setting(0, SKETCH, ge=0)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        fresh = newcomers(context)
        if fresh is not None:
            return fresh
        table = gram(context.population)
        strata, squares = stratified(table, min(self.strata, context.size), context.random)
        counts = np.bincount(strata, minlength=len(squares))
        drawn, shares = [], []
        for stratum, taken in enumerate(neyman(counts, np.sqrt(squares), context.size)):
            members = np.flatnonzero(strata == stratum)
            if taken:
                lengths = np.sqrt(np.maximum(np.diag(table)[members], 0.0))
                drawn.append(members[weighted(lengths, int(taken), context.random).places])
                shares.append(np.full(int(taken), counts[stratum] / taken))
        share = np.concatenate(shares)
        return context.cohort(np.concatenate(drawn), share=share / share.sum())


def neyman(counts: Counts, spreads: Reals, size: int) -> Counts:
    """How many of `size` each stratum gets: ∝ N_h·S_h, the largest remainders rounded up; one at least where it has any
    client and they suffice, and never more than it has. Without any spread it goes by N_h.

    >>> neyman(np.array([10, 10, 20]), np.array([1, 3, 0.5]), 10).tolist()
    [2, 6, 2]
    """
    wanted = counts * spreads if (counts * spreads).sum() > 0 else counts.astype(np.float64)
    found = np.minimum(counts, 1) if size >= np.count_nonzero(counts) else np.zeros_like(counts)
    while (left := size - int(found.sum())) > 0:
        open_ = found < counts
        weight = np.where(open_, wanted, 0.0)
        weight = weight if weight.sum() > 0 else open_.astype(np.float64)
        # whoever is below its even share by most comes next
        due = np.where(open_, weight / weight.sum() * (left + found[open_].sum()) - found, -np.inf)
        found[int(np.argmax(np.round(due, 9)))] += 1
    return found


def stratified(table: Reals, count: int, rng: np.random.Generator, rounds: int = 100) -> tuple[Counts, Reals]:
    """The stratum of each client, by k-means on the inner products of their updates, and the mean squared distance of
    each stratum from its centre. A stratum without clients starts again with a client drawn at random."""
    clients = len(table)
    seeds = rng.choice(clients, count, replace=False)
    squares = np.diag(table)[:, None] + np.diag(table)[seeds] - 2 * table[:, seeds]
    strata = _nearest(squares)
    for _ in range(rounds):
        for empty in np.flatnonzero(np.bincount(strata, minlength=count) == 0):
            crowded = np.flatnonzero(np.bincount(strata, minlength=count)[strata] > 1)
            strata[rng.choice(crowded)] = empty
        member = np.eye(count)[strata]
        mean = member / member.sum(0)
        squares = np.diag(table)[:, None] - 2 * table @ mean + ((table @ mean) * mean).sum(0)
        before, strata = strata, _nearest(squares)
        if np.array_equal(before, strata):
            break
    squares = np.maximum(squares, 0.0)
    own = squares[np.arange(clients), strata]
    counts = np.maximum(np.bincount(strata, minlength=count), 1)
    return strata, np.bincount(strata, weights=own, minlength=count) / counts


def _nearest(squares: Reals) -> Counts:
    """By single precision: the last bits of a matrix product are the machine's, and decide nothing."""
    nearest: Counts = squares.astype(np.float32).argmin(1)
    return nearest
