"""The selection of FedCG (Jiang et al., INFOCOM 2023; a reconstruction, see `allocate.fedcg`): representative clients,
near ties to the faster. Its steps A and B (`shortest`) take turns until the clients repeat."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.parts.allocate.fedcg import shortest
from heteroselect.parts.select.divfl import newcomers
from heteroselect.parts.select.facility import cost, greedy, represented
from heteroselect.parts.select.geometry import SKETCH, distances, gram

MINIMUM = 0.005  # density that nobody is planned below
SLACK = 0.01  # how much worse than the best counts as good
ITERATIONS = 10


@dataclass(frozen=True)
class FedCG:
    """Selects by both steps in turn; `share` is δ/K. How much each sends is then for the allocator, which solves its
    step for the cohort. Before there is any upload the draw is uniform.

    Use when links differ much and updates are compressed per client. Beware: the formulas are reconstructed from the
    paper's abstract.
    """

    kind = "fedcg"
    traits = Traits(needs={"links", "uploads"}, brings={"allocate": {"kind": "fedcg"}}, shares=True)

    average: float = setting(0.2, "mean density that is planned for", gt=0, le=1)
    sketch: int = setting(0, SKETCH, ge=0)

    def fits(self, parts: Mapping[str, Any]) -> str | None:
        """Why it cannot work with these parts, or None: both steps of the rule go by one density."""
        allocate = parts["allocate"]
        if getattr(allocate, "kind", "") != self.kind or allocate.average == self.average:
            return None
        return f"must have the average of the allocation, which is {allocate.average:g}"

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        links, fresh = context.links, newcomers(context)
        if fresh is not None:
            return fresh
        table = distances(gram(context.population))
        places = alternate(table, links.computing, links.sending, context.size, self.average)
        return context.cohort(places, share=represented(table, places) / len(table))


def alternate(distances: Reals, computing: Reals, sending: Reals, size: int, average: float = 0.2) -> Counts:
    """Steps A and B in turn until the clients repeat; of all plans within `SLACK` of the most representative, the
    clients of the shortest round."""
    densities, seen = np.full(len(distances), average), set[tuple[int, ...]]()
    plans = []
    for _ in range(ITERATIONS):
        places = greedy(distances, size, computing + densities * sending, SLACK)
        if tuple(sorted(places.tolist())) in seen:
            break
        seen.add(tuple(sorted(places.tolist())))
        weights = np.full(len(places), 1 / len(places))
        seconds, found = shortest(computing[places], sending[places], weights, 1 - average, MINIMUM)
        plans.append((cost(distances, places), seconds, places))
        # those not taken would send what they are thought to send on average
        densities = np.full(len(distances), average)
        densities[places] = found
    enough = (1 + SLACK) * min(apart for apart, _, _ in plans)
    return min((plan for plan in plans if plan[0] <= enough), key=lambda plan: plan[1])[2]
