"""The uplinks: U[1, 5] Mb/s, drawn anew for each client and round, after the selection."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.population import Reals


@dataclass(frozen=True)
class Links:
    """Bandwidths in bit/s of all clients.

    stress: `none` draws independently; `inverse` is the authors' stress test, low + (high − low)(1 − L/max L);
    `permuted` draws as ever and hands the values out in inverse order of the losses, so that only the
    coupling changes and not the distribution.
    """

    low_mbps: float = 1.0
    high_mbps: float = 5.0
    stress: Literal["none", "inverse", "permuted"] = "none"

    @property
    def mean(self) -> float:
        return (self.low_mbps + self.high_mbps) / 2 * 1e6

    def draw(self, losses: Reals, rng: np.random.Generator) -> Reals:
        if self.stress == "inverse":
            worst = losses.max()
            share = 1 - losses / worst if worst > 0 else np.zeros(len(losses))
            return (self.low_mbps + (self.high_mbps - self.low_mbps) * share) * 1e6
        drawn = rng.uniform(self.low_mbps, self.high_mbps, len(losses)) * 1e6
        if self.stress == "none":
            return drawn
        bandwidth = np.empty(len(losses))
        bandwidth[np.argsort(-losses, kind="stable")] = np.sort(drawn)
        return bandwidth
