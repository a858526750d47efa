"""A sample that is spread out: the local pivotal method.

Grafström, Lundström, Schelin, "Spatially balanced sampling through the pivotal method", Biometrics 2012. Two units that
are each other's nearest play for their probabilities: one takes from the other until it is in or the other is out.
Every step keeps every probability on average.

Their first algorithm plays one such pair at a time; here all of them play at once, which is the same because a pair
stays each other's nearest while others leave. Of more than a thousand undecided clients each looks for its nearest only
in the order of a k-d tree's leaves; that costs some of the spread and nothing of the probabilities.
"""

import numpy as np

from heteroselect.core.arrays import Counts, Reals

NEGLIGIBLE = 1e-9  # a probability nearer than this to 0 or 1 has been decided, but for rounding
FEW = 1000  # clients of whom all distances are looked at
REACH = 16  # neighbours in the order of the tree that are looked at on either side, where there are more
TIES = 1e-7  # of the extent of all places: who stands nearer than this to each other is paired at random


def chances(weights: Reals, size: int, floor: float) -> Reals:
    """π_k = clip(λw_k, floor·m/K, 1) with the λ for which they add up to m.

    >>> chances(np.array([0.0, 1.0, 1.0, 8.0]), 2, 0.2).round(9).tolist()
    [0.1, 0.45, 0.45, 1.0]
    """
    clients = len(weights)
    if not 1 <= size <= clients:
        raise ValueError(f"{size} clients cannot be drawn from {clients}")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("a client's weight is negative or not finite")
    if weights.max() <= 0 or size == clients:
        return np.full(clients, size / clients)
    weights = np.maximum(weights, NEGLIGIBLE * weights.max())  # who has none is in where all others are
    least, rising = floor * size / clients, np.sort(weights)
    levels = np.sort(np.concatenate([least / rising, 1 / rising]))
    # at a level the lowest are at the floor, the highest at 1, and those between in proportion
    below, above = np.searchsorted(rising, least / levels), np.searchsorted(rising, 1 / levels)
    upto = np.concatenate([[0.0], np.cumsum(rising)])
    sums = least * below + levels * (upto[above] - upto[below]) + (clients - above)
    found: Reals = np.clip(np.interp(size, sums, levels) * weights, least, 1.0)
    return found


def spread(chances: Reals, places: Reals, rng: np.random.Generator) -> Counts:
    """The clients drawn, each with its chance and as many as the chances add up to; `places` has a row of coordinates
    per client."""
    left = chances.copy()
    extent = float(np.ptp(places, axis=0).max(initial=0.0)) or 1.0
    places = places + TIES * extent * rng.standard_normal(places.shape)
    undecided = _undecided(left, tree_order(places))
    while len(undecided) > 1:
        near = nearest(places[undecided])
        one = np.flatnonzero((near[near] == np.arange(len(near))) & (near > np.arange(len(near))))
        first, second = undecided[one], undecided[near[one]]
        left[first], left[second] = play(left[first], left[second], rng.random(len(one)))
        undecided = _undecided(left, undecided)
    return np.flatnonzero(left > 0.5)  # of the last one only rounding is undecided


def play(one: Reals, other: Reals, luck: Reals) -> tuple[Reals, Reals]:
    """The probabilities of pairs after they played: of p + q ≤ 1 one takes all, p of (p + q) times the first; of more
    one is in for sure, and the other has what is left.

    >>> play(np.array([0.5, 0.5]), np.array([0.25, 0.75]), np.array([0.6, 0.6]))
    (array([0.75, 0.25]), array([0., 1.]))
    """
    both = one + other
    many = both > 1
    winner, loser = np.where(many, 1.0, both), np.where(many, both - 1, 0.0)
    first = luck * np.where(many, 2 - both, both) < np.where(many, 1 - other, one)
    return np.where(first, winner, loser), np.where(first, loser, winner)


def nearest(places: Reals) -> Counts:
    """Whom each stands nearest to, of all or of its neighbours in the order given. Two of them are each other's."""
    clients = len(places)
    if clients <= FEW:
        from scipy.spatial.distance import cdist  # slow to import

        table = cdist(places, places, "sqeuclidean")
        np.fill_diagonal(table, np.inf)
        closest: Counts = table.argmin(1)
        return closest
    found, least = np.zeros(clients, np.int64), np.full(clients, np.inf)
    everybody = np.arange(clients)
    for step in range(1, REACH + 1):
        between = places[step:] - places[:-step]
        apart = np.einsum("ij,ij->i", between, between)
        before, after = slice(None, -step), slice(step, None)
        for mine, other in ((before, after), (after, before)):
            nearer = apart < least[mine]
            np.copyto(found[mine], everybody[other], where=nearer)
            np.copyto(least[mine], apart, where=nearer)
    return found


def tree_order(places: Reals) -> Counts:
    """The clients as they stand in the leaves of a k-d tree: halved where they are furthest apart, again and again."""

    def halved(ids: Counts) -> list[Counts]:
        if len(ids) <= REACH:
            return [ids]
        mine = places[ids]
        axis = int(np.ptp(mine, axis=0).argmax())
        order = np.argpartition(mine[:, axis], len(ids) // 2)
        return [*halved(ids[order[: len(ids) // 2]]), *halved(ids[order[len(ids) // 2 :]])]

    everybody = np.arange(len(places))
    return everybody if len(places) <= FEW else np.concatenate(halved(everybody))


def _undecided(left: Reals, ids: Counts) -> Counts:
    """Those of some clients who are neither in nor out."""
    return ids[(left[ids] > NEGLIGIBLE) & (left[ids] < 1 - NEGLIGIBLE)]
