"""Who is there: intervals of time in which each client is available, and what becomes of one that leaves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.conditions import Conditions
from heteroselect.core.streams import Streams
from heteroselect.world.world import Losses, World, typical


@dataclass(frozen=True)
class Availability:
    """Intervals [start, end) of some clients, each repeated with its period; built by `of`, so that those of a client
    neither touch nor overlap. Client k of a run has those of client k modulo their number (`known`)."""

    known: int
    owner: Counts
    starts: Reals
    ends: Reals
    periods: Reals

    @staticmethod
    def of(intervals: Sequence[Sequence[tuple[float, float]]], period: float | Sequence[float]) -> "Availability":
        """The intervals of client 0, of client 1 and so on, and the period in seconds, of all or of each."""
        if len(intervals) == 0:
            raise ValueError("intervals: allowed are those of at least one client")
        periods = np.broadcast_to(np.asarray(period, float), len(intervals))
        merged = [_merged(of_one, float(turn)) for of_one, turn in zip(intervals, periods, strict=True)]
        owner = np.repeat(np.arange(len(merged)), [len(of_one) for of_one in merged])
        edges = np.array([edge for of_one in merged for edge in of_one]).reshape(-1, 2)
        return Availability(len(merged), owner, edges[:, 0], edges[:, 1], periods[owner])

    def dealt(self, clients: int, streams: Streams) -> "Availability":
        """The intervals of so many clients, drawn without replacement as long as there are any left."""
        places = streams.numpy("availability").permutation(self.known)[np.arange(clients) % self.known]
        rows = [np.flatnonzero(self.owner == place) for place in places]
        owner, taken = np.repeat(np.arange(clients), [len(one) for one in rows]), np.concatenate(rows)
        return Availability(clients, owner, self.starts[taken], self.ends[taken], self.periods[taken])

    def at(self, now: float, clients: int) -> tuple[NDArray[np.bool_], Reals, float]:
        """Who is available at a second, until when each stays (`now` of those who are away), and the next second at
        which anybody comes or goes."""
        # the same sums give an edge before and after it is reached, so time cannot stand still just before one
        whole = np.floor(now / self.periods) + np.array([[-1.0], [0.0], [1.0]])
        starts, ends = whole * self.periods + self.starts, whole * self.periods + self.ends
        stays = np.full(self.known, float(now))
        inside = (starts <= now) & (now < ends)
        np.maximum.at(stays, np.broadcast_to(self.owner, inside.shape)[inside], ends[inside])
        edges = np.concatenate([starts, ends]).ravel()
        leaves = stays[np.arange(clients) % self.known]
        return leaves > now, leaves, float(edges[edges > now].min(initial=math.inf))


def day_cycle(clients: int, streams: Streams, *, share: float, period: float, spread: float) -> Availability:
    """Each client is there once per `period` (a day), for a `share` of it. When it comes is drawn evenly from the first
    `spread` of the period: with 0 all come at once, with 1 there are as many at all times."""
    comes = spread * period * streams.numpy("day cycle").uniform(size=clients)
    return Availability.of([[(start, start + share * period)] for start in comes.tolist()], period)


def _merged(intervals: Sequence[tuple[float, float]], period: float) -> list[tuple[float, float]]:
    """The intervals of one client in order, those that touch as one, also over the end of the period; one from −∞ to ∞
    where nothing is left out."""
    if not 0 < period < math.inf:
        raise ValueError(f"period: allowed is a number of seconds above 0, not {period}")
    found: list[tuple[float, float]] = []
    for start, end in sorted(intervals):
        if not (0 <= start <= end <= start + period and start < period):
            raise ValueError(
                f"intervals: allowed is 0 ≤ start ≤ end, and a start before the period of {period:g} s and an end at "
                f"most a period after it, not ({start:g}, {end:g})"
            )
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        elif start < end:
            found.append((start, end))
    while len(found) > 1 and found[-1][1] >= period + found[0][0]:
        found[-1] = found[-1][0], max(found[-1][1], period + found[0][1])
        del found[0]
    if found and found[0][1] - found[0][0] >= period:
        return [(-math.inf, math.inf)]
    return found


@dataclass(frozen=True)
class Intervals:
    """Another world in which clients are available only at some times."""

    world: World
    availability: Availability

    def conditions(self, round: int, now: float, clients: int, losses: Losses, streams: Streams) -> Conditions:
        """Those of the other world; available is who is so in both."""
        found = self.world.conditions(round, now, clients, losses, streams)
        available, leaves, changes = self.availability.at(now, clients)
        leaves = leaves if found.leaves is None else np.minimum(leaves, found.leaves)
        return replace(found, available=available & found.available, leaves=leaves, changes=min(changes, found.changes))

    def typical(self, clients: int, streams: Streams) -> tuple[float, float]:
        return typical(self.world, clients, streams)


def gone(answers: Reals, ids: Counts, conditions: Conditions, now: float) -> list[bool]:
    """Whether each of the clients `ids` leaves before its answer, which takes so many seconds from `now` on, has
    arrived. Conditions are those of all clients."""
    if conditions.leaves is None:
        return [False] * len(ids)
    left: list[bool] = (now + answers > conditions.leaves[ids]).tolist()
    return left
