"""Aggregates that a minority of hostile or broken clients cannot move far.

The mean follows whoever is longest; these follow the majority. They need clients whose updates are alike: with very
uneven data an honest client may look hostile.

Of the weights a_k, whose sum need not be 1, only those above zero take part. The result is always scaled by Σa_k, so
that identical updates give the same as the mean. A coordinate that was not sent counts as zero, so the median drops
what fewer than half of the clients send.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.part import setting
from heteroselect.core.update import Update, Values
from heteroselect.parts.aggregate.mean import Mean, check

BLOCK = 1 << 15  # coordinates looked at together: ten clients of any size take 1.3 MB
ITERATIONS = 10  # of Weiszfeld's algorithm
MET = 1e-6  # distance below which an update counts as met by it


@dataclass(frozen=True)
class Median:
    """Takes each coordinate's median over the clients (Yin et al., "Byzantine-robust distributed learning: Towards
    optimal statistical rates", ICML 2018). All clients count the same. Withstands less than half of them.

    Use when less than half of the clients may be hostile. Beware: with skewed data the median drops what few clients
    know.
    """

    kind = "median"

    def aggregate(self, updates: Sequence[Update], weights: Reals, size: int) -> Values:
        return _trimmed(updates, weights, size, 0.5)


@dataclass(frozen=True)
class TrimmedMean:
    """Takes each coordinate's mean without its lowest and its highest values (Yin et al., ICML 2018). All clients count
    the same. ⌈trim·m⌉ of m values are cut at each end, as long as one is left; it withstands that many clients.

    Use when a known share of clients may be hostile. Beware: honest extremes are cut as well, and a larger hostile
    share is not withstood.
    """

    kind = "trimmed-mean"

    trim: float = setting(0.1, "share of the clients cut at each end, rounded up", ge=0, lt=0.5)

    def aggregate(self, updates: Sequence[Update], weights: Reals, size: int) -> Values:
        return _trimmed(updates, weights, size, self.trim)


@dataclass(frozen=True)
class GeometricMedian:
    """Finds the point with the least weighted sum of distances to the updates, Σ a_k‖v − Δ_k‖ (RFA: Pillutla, Kakade,
    Harchaoui, "Robust aggregation for federated learning", IEEE TSP 2022), by the smoothed Weiszfeld algorithm from the
    mean on. Withstands clients with less than half of the weight. Their secure aggregation is left out.

    Every iterate is a mean with other weights, so it is found from the distances between the updates alone.

    Use when hostile clients have less than half of the weight. Beware: it pulls towards the majority where data are
    skewed.
    """

    kind = "geometric-median"

    def aggregate(self, updates: Sequence[Update], weights: Reals, size: int) -> Values:
        updates, weights = _taken(updates, weights, size)
        if not updates:
            return np.zeros(size, np.float32)
        total, apart = float(weights.sum()), distances(updates)
        parts = weights / total
        for _ in range(ITERATIONS):
            towards = (apart * parts).sum(1)  # ‖v − Δ_k‖² = Σ_j c_j d²_jk − ½ Σ_ij c_i c_j d²_ij for v = Σ c_j Δ_j
            away = np.sqrt(np.maximum(towards - (towards * parts).sum() / 2, 0.0))
            parts = weights / np.maximum(away, MET)
            parts = parts / parts.sum()
        return Mean().aggregate(updates, total * parts, size)


@dataclass(frozen=True)
class MultiKrum:
    """Takes the weighted mean of the m − f updates that have the shortest squared distances to their m − f − 2 nearest
    (Blanchard, El Mhamdi, Guerraoui, Stainer, "Machine learning with adversaries: Byzantine tolerant gradient descent",
    NeurIPS 2017), f = ⌈hostile·m⌉ but so few that 2f + 2 < m, which their proof needs. The weights of those taken keep
    their ratios and take over what the others had.

    Use when hostile updates lie far from the honest ones. Beware: honest clients with rare data lie far off, too, and
    small cohorts allow for few hostile clients.
    """

    kind = "multi-krum"

    hostile: float = setting(0.2, "share of the cohort taken to be hostile, rounded up", ge=0, lt=0.5)

    def aggregate(self, updates: Sequence[Update], weights: Reals, size: int) -> Values:
        updates, weights = _taken(updates, weights, size)
        clients = len(updates)
        hostile = max(0, min(_rounded_up(self.hostile * clients), (clients - 3) // 2))
        if hostile:
            nearest = np.sort(distances(updates), axis=1)[:, 1 : clients - hostile - 1]  # the first is itself
            best = np.sort(np.argsort(nearest.sum(1), kind="stable")[: clients - hostile])
            weights = weights[best] * (weights.sum() / weights[best].sum())
            updates = [updates[place] for place in best]
        return Mean().aggregate(updates, weights, size)


def distances(updates: Sequence[Update]) -> Reals:
    """‖Δ_i − Δ_j‖² of all pairs, in double precision and in a fixed order."""
    found = np.zeros((len(updates), len(updates)))
    for _, block in _blocks(updates):
        for i in range(len(updates) - 1):
            apart = block[i + 1 :] - block[i]
            found[i, i + 1 :] += np.einsum("ij,ij->i", apart, apart)
    return found + found.T


def _trimmed(updates: Sequence[Update], weights: Reals, size: int, share: float) -> Values:
    """Σa_k times each coordinate's mean without `share` of the values at each end, one or two of them left at least."""
    updates, weights = _taken(updates, weights, size)
    total = np.zeros(size, np.float32)
    cut = max(0, min(_rounded_up(share * len(updates)), (len(updates) - 1) // 2))
    for where, block in _blocks(updates):
        block.sort(axis=0)
        total[where] = weights.sum() * block[cut : len(updates) - cut].mean(0)
    return total


def _taken(updates: Sequence[Update], weights: Reals, size: int) -> tuple[list[Update], Reals]:
    """Those with a weight above zero, checked."""
    check(updates, weights, size)
    return [update for update, weight in zip(updates, weights, strict=True) if weight > 0], weights[weights > 0]


def _blocks(updates: Sequence[Update]) -> Iterator[tuple[slice, Reals]]:
    """The updates, some coordinates at a time, one row per client."""
    size = updates[0].size if updates else 0
    for start in range(0, size, BLOCK):
        block = np.zeros((len(updates), min(BLOCK, size - start)))
        for row, update in zip(block, updates, strict=True):
            update.write(row, start)
        yield slice(start, start + block.shape[1]), block


def _rounded_up(count: float) -> int:
    return math.ceil(count - 1e-9)  # 0.07·100 is a little more than 7
