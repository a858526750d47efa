"""FedCS (Nishio, Yonetani, "Client selection for federated learning with heterogeneous resources in mobile edge",
ICC 2019): as many clients as can upload before a deadline."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.conditions import Conditions
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits


@dataclass(frozen=True)
class FedCS:
    """Asks some random candidates how fast they are, and those who fit into `deadline` seconds take part, the
    quickest to add first; never more than there are places. Where nobody fits, the single fastest does.

    In the paper uploads come one after the other over a shared link, as many are asked as there are places, and the
    deadline is 180 s, which leaves nobody out where all are done by then. So the deadline follows from the clients
    unless it is given: a `quantile` of the seconds that a round with each of them would take.

    Use when a round has a deadline. Beware: slow clients are left out for good, with whatever only their data show.
    """

    kind: ClassVar[str] = "fedcs"
    traits = Traits(needs={"links"}, by_cohort=True)

    deadline: float = setting(0.0, "seconds that the round may take (the paper: 180); 0 takes the `quantile`", ge=0)
    quantile: float = setting(
        0.4, "share of the available clients with whom a round would end before the deadline",
        gt=0, le=1, tune=(0.2, 1, "linear"),
    )  # fmt: skip
    uploads: Literal["sequential", "parallel"] = setting(
        "parallel", "uploads share one link one after the other (the paper), or each client has its own"
    )
    overhead: float = setting(0.0, "seconds that asking, sending the model out and averaging take", ge=0)
    candidates: int = setting(0, "how many are asked; 0 asks `factor` times as many as there are places", ge=0)
    factor: int = setting(2, "number of candidates per place (the paper: 1)", ge=1)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        clients, links = len(context.ids), context.links
        asked = np.sort(
            context.random.choice(clients, min(self.candidates or self.factor * context.size, clients), replace=False)
        )
        mine = links.only(asked)
        room = self.deadline - self.overhead if self.deadline else self.usual(links, context.size)
        if self.uploads == "sequential":
            fit, _ = one_by_one(mine.computing, mine.sending, room)
        else:
            fit = at_once(mine.computing, mine.sending, room)
        if len(fit) == 0:
            fit = np.array([np.argmin(mine.computing + mine.sending)])
        places = asked[fit[: context.size]]
        return context.cohort(places, np.full(len(places), len(asked) / clients))

    def usual(self, links: Conditions, size: int) -> float:
        """The quantile of what a round with each client takes: its own time, and where uploads come one after the
        other that of `size` uploads like its own."""
        uploads = size if self.uploads == "sequential" else 1
        return float(np.quantile(links.computing + uploads * links.sending, self.quantile))


def one_by_one(computing: Reals, sending: Reals, deadline: float) -> tuple[Counts, float]:
    """Algorithm 3: the client that adds least to the time so far comes next, as long as the deadline holds; who they
    are, and when the last upload is in.

    A client computes while others send, so it adds its upload and what it still has to compute by then.

    >>> one_by_one(np.array([1.0, 2.0, 10.0]), np.array([2.0, 1.0, 1.0]), 6.0)
    (array([0, 1]), 4.0)
    """
    left, chosen, elapsed = list(range(len(computing))), [], 0.0
    while left:
        added = sending[left] + np.maximum(0.0, computing[left] - elapsed)
        place = int(np.argmin(added))
        if elapsed + added[place] >= deadline:
            break  # nobody left adds less
        chosen.append(left.pop(place))
        elapsed += float(added[place])
    return np.array(chosen, np.int64), elapsed


def at_once(computing: Reals, sending: Reals, deadline: float) -> Counts:
    """All whose upload is in by the deadline, the fastest first."""
    took = computing + sending
    order = np.argsort(took, kind="stable")
    return order[took[order] <= deadline]
