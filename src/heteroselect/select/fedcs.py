"""FedCS (Nishio, Yonetani, "Client selection for federated learning with heterogeneous resources in mobile edge",
ICC 2019): as many clients as can be heard before a deadline."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.arrays import Counts, Reals
from heteroselect.select.cohort import Cohort, Situation


@dataclass(frozen=True)
class FedCS:
    """Some random candidates tell how fast they are, and those who fit into `deadline` seconds take part, the
    quickest to add first. Where nobody fits, the single fastest does.

    In the paper uploads come one after the other over a shared link (`sequential`); with a link for each client
    (`parallel`) whoever is in time fits. `overhead` is what asking, sending the model out and averaging take.
    `candidates` are asked, 0 being `factor` times as many as there are places (the paper: 1); never more than there
    are places take part.
    """

    deadline: float = 180.0
    uploads: Literal["sequential", "parallel"] = "sequential"
    overhead: float = 0.0
    candidates: int = 0
    factor: int = 1

    def select(self, scores: Reals, here: Situation) -> Cohort:
        if here.means is None:
            raise ValueError("this selection goes by links and devices, which its method has to ask for")
        clients = len(scores)
        asked = np.sort(
            here.rng.choice(clients, min(self.candidates or self.factor * here.size, clients), replace=False)
        )
        mine = here.means.only(asked)
        room = self.deadline - self.overhead
        if self.uploads == "sequential":
            fit, _ = one_by_one(mine.computing, mine.sending, room)
        else:
            fit = at_once(mine.computing, mine.sending, room)
        if len(fit) == 0:
            fit = np.array([np.argmin(mine.computing + mine.sending)])
        ids = asked[fit[: here.size]]
        return Cohort(ids, np.full(len(ids), len(asked) / clients))


def one_by_one(computing: Reals, sending: Reals, deadline: float) -> tuple[Counts, float]:
    """Algorithm 3: the client that adds least to the time so far comes next, as long as the deadline holds; who they
    are, and when the last of them is heard.

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
    """All who are heard by the deadline, the fastest first."""
    took = computing + sending
    order = np.argsort(took, kind="stable")
    return order[took[order] <= deadline]
