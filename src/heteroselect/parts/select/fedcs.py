"""FedCS (Nishio, Yonetani, "Client selection for federated learning with heterogeneous resources in mobile edge",
ICC 2019): as many clients as can upload before a deadline."""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits


@dataclass(frozen=True)
class FedCS:
    """Asks some random candidates how fast they are, and takes the fastest of those who are done within `deadline`
    seconds, at most as many as there are places. Where nobody is, the single fastest takes part.

    In the paper uploads come one after the other over a shared link, as many are asked as there are places, and the
    deadline is 180 s, which leaves nobody out where all are done by then. Here each client has its own link, and the
    deadline is a `quantile` of the seconds that a round with each of them would take, unless it is given.

    Use when a round has a deadline. Beware: slow clients are left out for good, with whatever only their data show.
    """

    kind = "fedcs"
    traits = Traits(needs={"links"}, by_cohort=True)

    deadline: float = setting(0.0, "seconds that the round may take (the paper: 180); 0 takes the `quantile`", ge=0)
    quantile: float = setting(
        0.4, "share of the available clients with whom a round would end before the deadline",
        gt=0, le=1, tune=(0.2, 1, "linear"),
    )  # fmt: skip
    factor: int = setting(2, "number of candidates per place (the paper: 1)", ge=1)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        clients, links = len(context.ids), context.links
        asked = np.sort(context.random.choice(clients, min(self.factor * context.size, clients), replace=False))
        takes = links.computing + links.sending
        deadline = self.deadline or float(np.quantile(takes, self.quantile))
        order = asked[np.argsort(takes[asked], kind="stable")]
        in_time = int((takes[order] <= deadline).sum())
        places = order[: min(max(in_time, 1), context.size)]
        return context.cohort(places, np.full(len(places), len(asked) / clients))
