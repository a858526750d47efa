"""How links and devices hang together: from round to round, with each other, and with the labels of a client.

Every client has normal scores, one for its device, one per round for each of its links; a score is turned into a rank
Φ(score), and the rank into a speed or a rate. So whatever is coupled, links and devices keep their distributions.
"""

import math
from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.streams import Streams


@dataclass(frozen=True)
class Coupling:
    """Correlations of normal scores; all 0 is the paper's world, in which nothing hangs together.

    `persistence` is that of a link with the same link a round before (AR(1)), `links_by_speed` that of a link with the
    speed of its device, and `links_by_label` and `speed_by_label` those with `labels`, a number per client: with 1 the
    clients with the smallest numbers are the slowest. Where a link is coupled to something that lasts, `persistence` is
    that of what the link has for itself.
    """

    persistence: float = 0.0
    links_by_speed: float = 0.0
    links_by_label: float = 0.0
    speed_by_label: float = 0.0
    labels: Reals | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.persistence < 1:
            raise ValueError(f"persistence: allowed is a number ≥ 0 and < 1, not {self.persistence}")
        for name in ("links_by_speed", "links_by_label", "speed_by_label"):
            if not -1 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}: allowed is a number ≥ -1 and ≤ 1, not {getattr(self, name)}")
        if self.rest < 0:
            raise ValueError("links_by_speed: it asks for more than 1 together with links_by_label and speed_by_label")
        if self.labels is None and (self.links_by_label or self.speed_by_label):
            raise ValueError("labels: allowed is a number for each client, where something is coupled to them")

    @property
    def active(self) -> bool:
        return any((self.persistence, self.links_by_speed, self.links_by_label, self.speed_by_label))

    @property
    def rest(self) -> float:
        """The variance that a link has for itself, so that its score has variance 1."""
        by_speed, by_label = self.links_by_speed, self.links_by_label
        return 1 - by_speed**2 - by_label**2 - 2 * by_speed * by_label * self.speed_by_label

    def speeds(self, clients: int, streams: Streams) -> Reals:
        """The score of each device; a high one is fast."""
        own = streams.numpy("device scores").standard_normal(clients)
        return self.speed_by_label * self._labels(clients) + math.sqrt(1 - self.speed_by_label**2) * own

    def links(self, purpose: str, round: int, clients: int, streams: Streams) -> Reals:
        """The score of each link in a round; `purpose` names the stream that they are drawn from."""
        rng = streams.numpy(f"{purpose} scores")
        own, fresh = rng.standard_normal(clients), math.sqrt(1 - self.persistence**2)
        for _ in range(round):  # again from the start in every round: nothing is kept that a resumed run would lack
            own = self.persistence * own + fresh * rng.standard_normal(clients)
        coupled = self.links_by_speed * self.speeds(clients, streams) + self.links_by_label * self._labels(clients)
        return coupled + math.sqrt(self.rest) * own

    def _labels(self, clients: int) -> Reals:
        """The scores of the clients' labels: the quantiles of a normal distribution, in the order of the labels."""
        from scipy.special import ndtri  # only where it is needed: its import takes as long as some rounds

        if not (self.links_by_label or self.speed_by_label):
            return np.zeros(clients)
        if self.labels is None or len(self.labels) != clients:
            raise ValueError(f"labels: allowed is one number for each of the {clients} clients")
        scores = np.empty(clients)
        scores[np.argsort(self.labels, kind="stable")] = ndtri((np.arange(clients) + 0.5) / clients)
        return scores


def ranks(scores: Reals) -> Reals:
    """Φ of the scores: from 0, the slowest, to 1."""
    from scipy.special import ndtr

    found: Reals = ndtr(scores)
    return found
