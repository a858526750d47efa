"""The selection of FedCG (Jiang et al., INFOCOM 2023; a reconstruction, see `allocate.fedcg`): representative clients,
near ties to the faster. Its steps A and B (`shortest`) take turns until the clients repeat."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.parts.allocate.fedcg import shortest
from heteroselect.parts.select.divfl import newcomers
from heteroselect.parts.select.facility import cost, greedy, represented
from heteroselect.parts.select.geometry import SKETCH, UNSEEN, distances, gram


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
    minimum: float = setting(0.005, "density that nobody is planned below", gt=0, le=1)
    unseen: Literal["mean", "first"] = setting("first", UNSEEN)
    sketch: int = setting(0, SKETCH, ge=0)

    def fits(self, parts: Mapping[str, Any]) -> str | None:
        """Why it cannot work with these parts, or None: both steps of the rule go by one density."""
        allocate = parts["allocate"]
        if getattr(allocate, "kind", "") != self.kind or allocate.average == self.average:
            return None
        return f"must have the average of the allocation, which is {allocate.average:g}"

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        links = context.links
        fresh = newcomers(context, self.unseen)
        if fresh is not None:
            return fresh
        table = gram(context.population)
        plan = alternate(
            distances(table),
            links.computing,
            links.sending,
            context.size,
            average=self.average,
            minimum=self.minimum,
        )
        return context.cohort(plan.places, share=plan.represented / len(context.ids))


@dataclass(frozen=True)
class Plan:
    """Who, how many clients each stands for, how much each sends, and how long that takes."""

    places: Counts
    represented: Counts
    densities: Reals
    seconds: float


def alternate(
    distances: Reals,
    computing: Reals,
    sending: Reals,
    size: int,
    *,
    average: float = 0.2,
    minimum: float = 0.005,
    iterations: int = 10,
    slack: float = 0.01,
) -> Plan:
    """Steps A and B in turn until the clients repeat; of all plans within `slack` of the most representative, the
    shortest round."""
    densities, plans = np.full(len(distances), average), []
    seen: set[tuple[int, ...]] = set()
    for _ in range(iterations):
        places = greedy(distances, size, computing + densities * sending, slack)
        if tuple(sorted(places.tolist())) in seen:
            break
        seen.add(tuple(sorted(places.tolist())))
        counts = represented(distances, places)
        weights = np.full(len(places), 1 / len(places))
        seconds, found = shortest(computing[places], sending[places], weights, 1 - average, minimum)
        plans.append((cost(distances, places), Plan(places, counts, found, seconds)))
        # those not taken would send what they are thought to send on average
        densities = np.full(len(distances), average)
        densities[places] = found
    enough = (1 + slack) * min(apart for apart, _ in plans)
    return min((plan for apart, plan in plans if apart <= enough), key=lambda plan: plan.seconds)
