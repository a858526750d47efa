"""FedLECC (Jimenez-Gutierrez, Giunta, Hassanzadeh, Anagnostopoulos, Chatzigiannakis, Vitaletti, "FedLECC: Cluster- and
loss-guided client selection for federated learning under non-IID data", 2026). A reconstruction.

Clients with alike label distributions form clusters; from the clusters with the highest mean loss the clients with the
highest loss are taken. The abstract says so much; the details here are ours: clusters are what hangs together by
Hellinger distances below `reach`, and a client whose labels are not known yet is a cluster of its own.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.population import Population
from heteroselect.core.traits import Traits
from heteroselect.parts.select.power_of_choice import LOSS_ALONE

LABEL = "label"  # how the reports of label shares are named: label0, label1, …


@dataclass(frozen=True)
class FedLECC:
    """Takes clients of high loss from every cluster of label shares. Clients say with each upload which share of their
    examples has which label.

    Use when labels are skewed between clients. Beware: clients reveal their label shares, and the rule is reconstructed
    from an abstract.
    """

    kind = "fedlecc"
    traits = Traits(
        needs={"scores", "labels"},
        brings={"score": LOSS_ALONE},
    )

    clusters: int = setting(
        0, "number of clusters J that clients are taken from; 0: as many as clients are selected", ge=0
    )
    reach: float = setting(
        0.2, "Hellinger distance up to which two clients are of one cluster", ge=0, le=1, tune=(0.05, 0.6, "linear")
    )

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        if not np.isfinite(scores).all():
            raise ValueError("a client's score is not finite")
        labels = label_shares(context.population)
        return context.cohort(by_cluster(connected(hellinger(labels), self.reach), scores, context.size, self.clusters))


def label_shares(population: Population) -> Reals:
    """A row per client: which share of its examples has which label; NaN of those who have not said it."""
    names = sorted(name for name in population.reports if name.startswith(LABEL))  # the sums have one order
    table = np.stack([population.reported(name) for name in names], axis=1) if names else np.empty((len(population), 0))
    known = np.isfinite(table).any(1, keepdims=True)
    return np.where(known & np.isnan(table), 0.0, table)


def hellinger(shares: Reals) -> Reals:
    """‖√q − √r‖/√2 of all pairs; 1 where one is not known.

    >>> hellinger(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])).round(4).tolist()
    [[0.0, 1.0, 0.5412], [1.0, 0.0, 0.5412], [0.5412, 0.5412, 0.0]]
    """
    roots = np.sqrt(shares)
    squares = ((roots[:, None] - roots[None]) ** 2).sum(-1) / 2
    known = np.isfinite(shares).all(1) & (shares.shape[1] > 0)
    found = np.where(known[:, None] & known, np.sqrt(np.maximum(squares, 0.0)), 1.0)
    np.fill_diagonal(found, 0.0)
    return found


def connected(distances: Reals, reach: float) -> Counts:
    """The cluster of each client: those who hang together by distances up to `reach`, named by their lowest place.
    (DBSCAN with two points as a crowd, its noise being clusters of one.)"""
    near = (distances <= reach) & (distances < 1)
    np.fill_diagonal(near, True)
    found, before = np.arange(len(near)), None
    while before is None or not np.array_equal(before, found):
        before, found = found, np.where(near, found, len(near)).min(1)
    return found


def by_cluster(clusters: Counts, losses: Reals, size: int, count: int = 0) -> Counts:
    """⌈m/J⌉ clients from each of the J clusters with the highest mean loss, those with the highest loss first; where
    that is not enough, from the next clusters, and then whoever is left. Ties go to the lower number."""
    names, where = np.unique(clusters, return_inverse=True)
    means = np.bincount(where, weights=losses) / np.bincount(where)
    count = min(count or size, len(names), size)
    each = -(-size // count)
    order = np.argsort(-losses, kind="stable")
    ranked = [order[where[order] == name] for name in np.argsort(-means, kind="stable")]
    first = [members[:each] for members in ranked]
    rest = np.concatenate([members[each:] for members in ranked])
    rest = rest[np.argsort(-losses[rest], kind="stable")]
    return np.concatenate([*first, rest])[:size]
