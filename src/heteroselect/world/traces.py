"""Links whose rates are read from a trace, and change while something is on its way."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.conditions import Conditions, Transfers
from heteroselect.core.streams import Streams
from heteroselect.world.world import Losses, World, typical

OUTAGE = 1e3
"""The bit/s that a link without any rate at this second is given as, so that a part may divide by it."""


@dataclass(frozen=True)
class Rates:
    """Bit/s of one link, constant from each of the `starts` to the next, and again from the beginning after `period`
    seconds. The first start is 0. A rate may be 0 for a while (an outage), but not always.

    >>> Rates(np.array([0.0, 4.0]), np.array([1e6, 3e6]), 8.0).seconds(10e6, start=0.0)  # 4 Mb in 4 s, 6 Mb in 2 s
    6.0
    """

    starts: Reals
    bits: Reals
    period: float

    def __post_init__(self) -> None:
        if not (len(self.starts) == len(self.bits) > 0 and self.starts[0] == 0):
            raise ValueError("starts: allowed is one second for each rate, from 0 on")
        if not (np.diff(np.append(self.starts, self.period)) > 0).all():
            raise ValueError("starts: allowed are rising seconds below the period")
        if not (np.isfinite(self.bits).all() and (self.bits >= 0).all() and (self.bits > 0).any()):
            raise ValueError("bits: allowed are rates of at least 0, and one above 0")

    @property
    def mean(self) -> float:
        """Bit/s over the whole period."""
        return float(self._before[-1] / self.period)

    def at(self, second: float) -> float:
        """Bit/s at a second."""
        return float(self.bits[self._place(second % self.period)])

    def seconds(self, bits: float, start: float) -> float:
        """How long so many bits take from a second on."""
        if bits <= 0:
            return 0.0
        phase = start % self.period
        place = self._place(phase)
        target = self._before[place] + (phase - self.starts[place]) * self.bits[place] + bits
        total = self._before[-1]
        turns = np.ceil(target / total) - 1  # the last bit arrives in the period after so many whole ones
        rest = target - turns * total
        used = self._used
        place = used[max(int(np.searchsorted(self._before[used], rest)) - 1, 0)]
        return float(turns * self.period + self.starts[place] + (rest - self._before[place]) / self.bits[place] - phase)

    def _place(self, phase: float) -> int:
        return int(np.searchsorted(self.starts, phase, side="right")) - 1

    @cached_property
    def _before(self) -> Reals:
        """Bits that have passed when each rate begins, and at the end of the period."""
        passed = np.diff(np.append(self.starts, self.period)) * self.bits
        return np.append(0.0, np.cumsum(passed))

    @cached_property
    def _used(self) -> Counts:
        """The places at which something passes."""
        return np.flatnonzero(self.bits)


@dataclass(frozen=True)
class LinkTrace:
    """Rates up, and perhaps down, of some links: client k has link k modulo their number, and reads its trace from
    second k·`offset` on, or from its own of the seconds in `offsets`, where these were drawn (`dealt`)."""

    up: tuple[Rates, ...]
    down: tuple[Rates, ...] = ()
    offset: float = 0.0
    offsets: tuple[float, ...] = ()

    def dealt(self, clients: int, streams: Streams) -> "LinkTrace":
        """A link for each of so many clients, and where each begins in it, both drawn. A link serves no more clients
        than another, but for one; up and down of a link stay together."""
        rng = streams.numpy("link traces")
        places = rng.permutation(len(self.up))[np.arange(clients) % len(self.up)]
        offsets = rng.uniform(size=clients) * np.array([self.up[place].period for place in places])
        down = tuple(self.down[place] for place in places) if self.down else ()
        return LinkTrace(tuple(self.up[place] for place in places), down, offsets=tuple(offsets.tolist()))

    def begins(self, client: int) -> float:
        """The second of its trace at which a client begins."""
        return self.offsets[client] if self.offsets else client * self.offset

    def rates(self, links: tuple[Rates, ...], clients: int, now: float) -> Reals:
        """Bit/s of all clients at a second, up or down."""
        found = [links[k % len(links)].at(now + self.begins(k)) for k in range(clients)]
        return np.maximum(found, OUTAGE)

    def up_seconds(self, client: int, bits: float, start: float) -> float:
        return self.up[client % len(self.up)].seconds(bits, start + self.begins(client))

    def down_seconds(self, client: int, bits: float, start: float) -> float:
        return self.down[client % len(self.down)].seconds(bits, start + self.begins(client))


@dataclass(frozen=True)
class _OnlyUp:
    """Transfers of which those down are of other conditions."""

    trace: LinkTrace
    others: Conditions

    def up_seconds(self, client: int, bits: float, start: float) -> float:
        return self.trace.up_seconds(client, bits, start)

    def down_seconds(self, client: int, bits: float, start: float) -> float:
        return float(self.others.down_seconds(np.array([client]), bits, start)[0])


@dataclass(frozen=True)
class TracedLinks:
    """Another world with the links of a trace; where the trace has no downlinks, those of the other world stay."""

    world: World
    trace: LinkTrace

    def conditions(self, round: int, now: float, clients: int, losses: Losses, streams: Streams) -> Conditions:
        """Those of the other world, with the rates of this second and the transfers of the trace."""
        found, trace = self.world.conditions(round, now, clients, losses, streams), self.trace
        transfers: Transfers = trace if trace.down else _OnlyUp(trace, found)
        down = trace.rates(trace.down, clients, now) if trace.down else found.down
        return replace(found, up=trace.rates(trace.up, clients, now), down=down, transfers=transfers)

    def typical(self, clients: int, streams: Streams) -> tuple[float, float]:
        """The mean of the links over time, and the seconds per step of the other world."""
        links = [self.trace.up[k % len(self.trace.up)].mean for k in range(clients)]
        return float(np.mean(links)), typical(self.world, clients, streams)[1]
