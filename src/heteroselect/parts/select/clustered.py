"""Clustered sampling (Fraboni et al., "Clustered sampling: low-variance and improved representativity for clients
selection in federated learning", ICML 2021).

One client is drawn from each of m distributions, and the m weigh the same. That is unbiased if client i has m·p_i in
all of them together; the more alike the clients of one distribution are, the less it matters who is drawn.

Masses are whole numbers, m·n_i in bins of Σn, so that nothing is lost to rounding.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.parts.select.draws import tally
from heteroselect.parts.select.geometry import SKETCH, angles, gram


@dataclass(frozen=True)
class Clustered:
    """Draws one client from each of m groups. A client without an upload counts as a zero vector; before there is any
    upload, distributions are by size.

    Use when data differ in groups, and the draw has to stay unbiased. Beware: by similarity it remembers uploads and
    compares all pairs of clients.
    """

    kind = "clustered-sampling"

    by: Literal["size", "similarity"] = setting(
        "similarity", "clusters by size (algorithm 1) or by similarity of the last uploads (algorithm 2)"
    )
    sketch: int = setting(0, SKETCH, ge=0)

    @property
    def traits(self) -> Traits:
        needs = {"uploads"} if self.by == "similarity" else set[str]()
        return Traits(needs, brings={"weigh": {"kind": "share"}}, shares=True)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        sizes, bins = context.population.sizes, context.size
        if self.by == "size" or not context.population.uploads:
            chances = by_size(sizes, bins)
        else:
            chances = by_similarity(sizes, bins, angles(gram(context.population, "zero")), context.random)
        draws = np.array([context.random.choice(len(sizes), p=row) for row in chances])
        drawn = tally(draws, np.full(len(sizes), 1 / bins), 1 - np.prod(1 - chances, axis=0))
        return context.cohort(drawn.places, drawn.inclusion, share=drawn.share)


def by_size(sizes: Counts, bins: int) -> Reals:
    """Algorithm 1: the clients, largest first, are poured into bins one after the other.

    >>> by_size(np.array([5, 3, 2]), 2).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.6, 0.4]]
    """
    order = np.argsort(-sizes, kind="stable")
    return _poured(bins * sizes, order, np.full(bins, sizes.sum())) / float(sizes.sum())


def by_similarity(sizes: Counts, bins: int, distances: Reals, rng: np.random.Generator) -> Reals:
    """Algorithm 2: Ward's tree is cut into groups that fit into a bin. The heaviest groups get one each, and the
    members of all others are poured, in random order, into what room is left.

    A client that fills bins all by itself has them first; the rest of it is a client like any other.
    """
    capacity = int(sizes.sum())
    whole, mass = np.divmod(bins * sizes, capacity)
    alone = np.repeat(np.arange(len(sizes)), whole)
    first = np.zeros((len(alone), len(sizes)), np.int64)
    first[np.arange(len(alone)), alone] = capacity
    left = bins - len(alone)
    found = np.zeros((left, len(sizes)), np.int64)
    groups = sorted(cut(mass, capacity, distances), key=lambda group: -int(mass[group].sum()))
    for row, group in zip(found, groups, strict=False):
        row[group] = mass[group]
    others = [k for group in groups[left:] for k in group]
    found += _poured(mass, rng.permutation(np.array(others, np.int64)), capacity - found.sum(1))
    return np.concatenate([first, found]) / capacity


def cut(mass: Counts, capacity: int, distances: Reals) -> list[list[int]]:
    """The largest groups of Ward's tree of at most `capacity`."""
    from scipy.cluster.hierarchy import linkage  # slow to import, and few methods need it
    from scipy.spatial.distance import squareform

    groups = {k: [k] for k in range(len(mass))}
    if len(mass) == 1:
        return [[0]]
    for number, (one, other) in enumerate(linkage(squareform(distances), "ward")[:, :2].astype(int), len(mass)):
        # a group that did not fit was not put back, so nothing is built on it
        if one in groups and other in groups:
            both = groups[one] + groups[other]
            if mass[both].sum() <= capacity:
                del groups[one], groups[other]
                groups[number] = both
    return list(groups.values())


def _poured(mass: Counts, order: Counts, rooms: Counts) -> Counts:
    """How much of each client ends in each bin, when they are poured in order and spill over into the next bin."""
    level, brim = np.cumsum(mass[order]), np.cumsum(rooms)
    tops = np.minimum(level, brim[:, None])
    bottoms = np.maximum(level - mass[order], (brim - rooms)[:, None])
    poured = np.zeros((len(rooms), len(mass)), np.int64)
    poured[:, order] = np.maximum(tops - bottoms, 0)
    return poured
