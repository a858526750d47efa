"""The four signals of a client's informativeness (eqs 2 to 5), each an array over all clients."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.update import Update, Values, norm

EPSILON = 1e-8


def minmax(values: Reals, constant: float | None = 0.5) -> Reals:
    """Stretch to [0, 1]; where all are equal there is no order, and everybody gets `constant` (None leaves the values
    as they are). Of the local losses it is V′ (eq. 2), whose ε only keeps 0/0 away.

    >>> minmax(np.array([1.0, 3.0, 2.0])).tolist()
    [0.0, 1.0, 0.5]
    >>> minmax(np.array([7.0, 7.0])).tolist()
    [0.5, 0.5]
    """
    if not np.isfinite(values).all():
        raise ValueError("a client's loss or score is not finite")
    low, high = values.min(), values.max()
    if high - low < EPSILON:
        return values.copy() if constant is None else np.full_like(values, constant)
    stretched: Reals = (values - low) / (high - low)
    return stretched


def cosines(uploads: Mapping[int, Update], consensus: Values | None) -> dict[int, float]:
    """cos(last upload, consensus) of every client, where neither is missing or zero."""
    if consensus is None:
        return {}
    length = norm(consensus)
    found = {}
    for client, update in uploads.items():
        scale = update.norm() * length
        if scale > 0:
            found[client] = update.dot(consensus) / scale
    return found


def diversity(clients: int, cosines: dict[int, float], unseen: float = 0.5) -> Reals:
    """D = clip(1 − cos(last upload, consensus), 0, 1) (eq. 3); `unseen` where there is none to compare."""
    values = np.full(clients, unseen)
    for client, cosine in cosines.items():
        values[client] = min(max(1 - cosine, 0.0), 1.0)
    return values


def fairness(counts: Counts, start: float = 0.0) -> Reals:
    """F′ = clip(1 − h/h̄, −1, 1) (eq. 4); `start` for everybody before anyone was selected."""
    mean = counts.mean()
    if mean == 0:
        return np.full(len(counts), start)
    ratio: NDArray[np.float64] = counts / mean
    return np.clip(1 - ratio, -1, 1)


def staleness(round: int, last_round: Counts, gamma: float = 0.5, constant: float | None = 0.5) -> Reals:
    """St′ = min-max of γ·ln(1 + t − l) (eq. 5), l = 0 for the never selected. Min-max cancels γ."""
    return minmax(gamma * np.log1p(round - last_round), constant)
