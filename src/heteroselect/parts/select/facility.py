"""Representative clients by facility location.

The cohort S minimises G(S) = Σ_k min_{i∈S} d(k, i), the distance of everybody's update to the nearest one in S. What
a further client takes off it only falls as S grows, so that picking the best one after the other comes within
1 − 1/e of the optimum (Nemhauser, Wolsey, Fisher 1978).
"""

import numpy as np

from heteroselect.core.arrays import Counts, Reals

BATCH = 16  # bounds that are looked at together; one at a time costs more than it saves


def greedy(distances: Reals, size: int, times: Reals | None = None, slack: float = 0.01) -> Counts:
    """The best next client, `size` times; ties go to the lower number.

    With `times`, whoever gains within `slack` of the best counts as a tie, and the fastest of them is taken.
    """
    nearest = farthest(distances)
    chosen: list[int] = []
    for _ in range(_places(distances, size)):
        gains = _gains(nearest, distances)
        gains[chosen] = -1.0
        best = int(np.argmax(gains))
        if times is not None:
            alike = np.flatnonzero(gains >= max(0.0, (1 - slack) * gains[best]))
            best = int(alike[np.argmin(times[alike])])
        chosen.append(best)
        nearest = np.minimum(nearest, distances[best])
    return np.array(chosen, np.int64)


def lazy(distances: Reals, size: int) -> Counts:
    """As `greedy` without times, and the same answer: a gain from before is a bound on the gain now, so only the
    highest bounds need to be looked at again (Minoux 1978)."""
    nearest = farthest(distances)
    bounds = _gains(nearest, distances)
    chosen: list[int] = []
    for _ in range(_places(distances, size)):
        stale = bounds >= 0  # those chosen have none
        while stale[best := int(np.argmax(bounds))]:
            again = np.flatnonzero(stale)
            again = again[np.argsort(-bounds[again], kind="stable")[:BATCH]]
            bounds[again], stale[again] = _gains(nearest, distances[again]), False
        chosen.append(best)
        nearest = np.minimum(nearest, distances[best])
        bounds[best] = -1.0
    return np.array(chosen, np.int64)


def farthest(distances: Reals) -> Reals:
    """Where everybody starts: at a phantom as far as anybody is from anybody. The first pick then is the medoid."""
    return np.full(len(distances), distances.max(initial=0.0))


def cost(distances: Reals, ids: Counts) -> float:
    """G(S)"""
    return float(distances[ids].min(0).sum())


def represented(distances: Reals, ids: Counts) -> Counts:
    """δ_j: how many clients are nearest to each of S; ties go to the lower number, and each of S to itself."""
    order = np.argsort(ids)
    near = distances[ids[order]].copy()
    near[np.arange(len(ids)), ids[order]] = -1.0
    counts = np.empty(len(ids), np.int64)
    counts[order] = np.bincount(near.argmin(0), minlength=len(ids))
    return counts


def _gains(nearest: Reals, rows: Reals) -> Reals:
    """What each would take off G(S). The table is symmetric, and a row sums the same way alone and among others."""
    gains: Reals = np.maximum(nearest - rows, 0.0).sum(1)
    return gains


def _places(distances: Reals, size: int) -> int:
    if not np.isfinite(distances).all():
        raise ValueError("a distance between clients is not finite")
    return min(size, len(distances))
