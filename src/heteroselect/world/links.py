"""The links: U[1, 5] Mb/s up, drawn anew for each client and round; or as they were measured; or as they are known."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from heteroselect.core.arrays import Reals


@dataclass(frozen=True)
class MeasuredLinks:
    """Bandwidths in bit/s as measured, smoothed: B ← keep·B + (1 − keep)·measured. A client that was never measured is
    given the median of the others, and the middle of the expected range before anybody was."""

    low_mbps: float = 1.0
    high_mbps: float = 5.0
    keep: float = 0.5
    estimates: dict[int, float] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        return (self.low_mbps + self.high_mbps) / 2 * 1e6

    def measured(self, client: int, bits_per_second: float) -> float:
        """Add a measurement to the estimates, in place; the client's new estimate."""
        before = self.estimates.get(client, bits_per_second)
        self.estimates[client] = self.keep * before + (1 - self.keep) * bits_per_second
        return self.estimates[client]

    def draw(self, losses: Reals, rng: np.random.Generator) -> Reals:
        """The estimate of each client; of the losses only their number is used."""
        usual = float(np.median(list(self.estimates.values()))) if self.estimates else self.mean
        return np.array([self.estimates.get(client, usual) for client in range(len(losses))])


@dataclass(frozen=True)
class Links:
    """Bandwidths in bit/s of all clients.

    stress: `none` draws independently; `inverse` is the authors' stress test, low + (high − low)(1 − L/max L);
    `permuted` draws as `none` does and gives the values out in inverse order of the losses, so that only the
    coupling changes and not the distribution. `none` takes of the losses only how many there are.
    """

    low_mbps: float = 1.0
    high_mbps: float = 5.0
    stress: Literal["none", "inverse", "permuted"] = "none"

    @property
    def mean(self) -> float:
        return (self.low_mbps + self.high_mbps) / 2 * 1e6

    def draw(self, losses: Reals, rng: np.random.Generator) -> Reals:
        """A bandwidth for each client, in the order of `losses`."""
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

    def at(self, ranks: Reals) -> Reals:
        """Bandwidths by their rank among all, from 0, the slowest, to 1."""
        return (self.low_mbps + (self.high_mbps - self.low_mbps) * ranks) * 1e6


@dataclass(frozen=True)
class GivenLinks:
    """Links whose rates in bit/s are known, one number per client, and the same in every round."""

    rates: Reals

    @property
    def mean(self) -> float:
        """The median: a few links of a table are so fast that the mean would be nobody's."""
        return float(np.median(self.rates))

    def draw(self, losses: Reals, rng: np.random.Generator) -> Reals:
        """The rate of each client; of the losses only their number is used."""
        if len(self.rates) != len(losses):
            raise ValueError(f"rates: allowed is one number for each of the {len(losses)} clients, not {self.rates}")
        return self.rates
