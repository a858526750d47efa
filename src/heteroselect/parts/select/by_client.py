"""What a selector keeps per client, by client number: candidates come and go, and nobody's numbers may change hands."""

from typing import Any

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.state import PartState


def recalled(state: PartState, ids: Counts, **unknown: Any) -> tuple[Counts, dict[str, Reals]]:
    """All clients met so far and those of `ids`, rising; and the arrays of these names, whose last axis is of these
    clients. New clients have the value that is given (a list: one per row).

    >>> state = {"clients": np.array([1, 4]), "queue": np.array([0.5, 2.0])}
    >>> clients, kept = recalled(state, np.array([3, 4]), queue=0.0)
    >>> clients.tolist(), kept["queue"].tolist()
    ([1, 3, 4], [0.5, 0.0, 2.0])
    """
    before = state.get("clients", ids[:0])
    clients = np.union1d(before, ids)
    found = {}
    for name, value in unknown.items():
        found[name] = np.repeat(np.asarray(value, np.float64)[..., None], len(clients), axis=-1)
        if name in state:
            found[name][..., np.searchsorted(clients, before)] = state[name]
    return clients, found
