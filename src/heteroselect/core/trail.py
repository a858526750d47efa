"""The coded steps that lead to a model, and which model each client has: what a client has to fetch."""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Counts


@dataclass(frozen=True)
class DownlinkHistory:
    """The last steps to the model after `round`, one payload per round (of no bytes where the model stayed), the round
    of the model that each client `has` (0 follows from the seed), and the bytes of the `whole` of the parameters."""

    round: int
    payloads: tuple[bytes, ...]
    has: Counts
    whole: int

    def steps(self, client: int) -> tuple[bytes, ...] | None:
        """The payloads that a client lacks; None where it fetches all parameters, because these are no more bytes."""
        behind = self.round - int(self.has[client])
        if not 0 <= behind <= len(self.payloads):
            return None
        lacking = self.payloads[len(self.payloads) - behind :]
        return lacking if sum(map(len, lacking)) < self.whole else None

    def bytes(self) -> Counts:
        """What each client fetches: min(all parameters, the steps that it lacks)."""
        sums = np.cumsum([0, *(len(one) for one in reversed(self.payloads))])
        behind = self.round - self.has
        known = (behind >= 0) & (behind <= len(self.payloads))
        return np.where(known, np.minimum(sums[np.where(known, behind, 0)], self.whole), self.whole)
