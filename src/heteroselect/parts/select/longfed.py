"""LongFed (Li, Miao, Zhao, Zhou, Zhao, Ji, Zhou, Liu, "Emulating full participation: An effective and fair client
selection strategy for federated learning", 2024). A reconstruction.

Within a round, a cohort whose updates stand for everybody's; in the long run, similar clients take part similarly
often. The abstract says so much; the formulas here are ours: a queue Z_ij of each pair grows by how much more often i
is taken than j, less ε·d_ij, and the cohort maximises V·(what facility location gains) + Σ_i Σ_j (Z_ji − Z_ij).
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.parts.select.facility import farthest
from heteroselect.parts.select.geometry import SKETCH, distances, gram


@dataclass(frozen=True)
class LongFed:
    """Takes cohorts that stand for all, and lets similar clients take part as often as each other. Distances are those
    of the last uploads, the largest being 1; whoever has none stands at their mean. Ties are broken at random.
    While one of a pair is away, its queue stays as it is.

    Use when participation is to be even over a long run. Beware: it keeps a number per pair of clients, and is
    reconstructed from an abstract.
    """

    kind = "longfed"
    traits = Traits(needs={"uploads"})

    representation: float = setting(
        1.0, "weight V of a representative cohort against fairness", ge=0, tune=(0.1, 10, "log")
    )
    slack: float = setting(0.1, "margin ε by which a client may be taken more often than one at distance 1", ge=0)
    sketch: int = setting(0, SKETCH, ge=0)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        table = distances(gram(context.population))
        table = table / (table.max(initial=0.0) or 1.0)
        clients, queues = remembered(context.state, context.ids)
        mine = np.searchsorted(clients, context.ids)
        due = (queues.sum(0) - queues.sum(1))[mine]
        places = representative(table, self.representation, due, context.size, context.random.permutation(len(table)))
        taken = np.isin(np.arange(len(table)), places).astype(np.float64)
        block = np.ix_(mine, mine)
        queues[block] = np.maximum(queues[block] + taken[:, None] - taken - self.slack * table, 0.0)
        np.fill_diagonal(queues, 0.0)
        return context.cohort(places, state={"clients": clients, "queues": queues})


def remembered(state: PartState, ids: Counts) -> tuple[Counts, Reals]:
    """All clients met so far, and a queue per pair; that of a client met for the first time is empty."""
    before = state.get("clients", ids[:0])
    clients = np.union1d(before, ids)
    queues = np.zeros((len(clients), len(clients)))
    if "queues" in state:
        places = np.searchsorted(clients, before)
        queues[np.ix_(places, places)] = state["queues"]
    return clients, queues


def representative(distances: Reals, weight: float, due: Reals, size: int, order: Counts) -> Counts:
    """One client after the other, each with the largest weight·gain + due; among equals the first in `order`."""
    nearest, chosen = farthest(distances), list[int]()
    for _ in range(size):
        worth = weight * np.maximum(nearest - distances, 0.0).sum(1) + due
        worth[chosen] = -np.inf
        best = int(order[np.argmax(np.round(worth[order], 9))])
        chosen.append(best)
        nearest = np.minimum(nearest, distances[best])
    return np.array(chosen, np.int64)
