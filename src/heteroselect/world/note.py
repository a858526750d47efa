"""What a round notes of the world: who was there, how fast links and devices were, and where the seconds went."""

from typing import Any

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.conditions import Conditions
from heteroselect.world.clock import Timing

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def world_note(conditions: Conditions, timing: Timing, *, took: Reals, waited: float) -> dict[str, Any]:
    """The world of a round, as a line of rounds.jsonl has it, to five digits. Of all clients: how many were `available`
    and, where not everybody was, who (`there`: a bit per client from client 0 on, as hexadecimal digits), and quantiles
    of links and of seconds per step. Of the round: the seconds in which nobody was there (`waited`), of scoring, of
    training until the server stopped waiting, and of calibration. Of each selected client: its seconds by what they
    went into, and until its answer."""
    seconds, there = timing.own, conditions.available
    return {
        "available": int(there.sum()),
        "there": None if there.all() else np.packbits(there).tobytes().hex(),
        "up_mbps": _quantiles(conditions.up / 1e6),
        "down_mbps": _quantiles(conditions.down / 1e6),
        "step_seconds": _quantiles(conditions.step_seconds),
        "waited": _short(waited),
        "scoring": _short(seconds.scoring),
        "training": _short(seconds.training),
        "calibration": _short(seconds.calibration),
        **{name: [_short(one) for one in getattr(seconds.spent, name)] for name in ("down", "compute", "up")},
        "took": [_short(one) for one in took],
    }


def who_was_there(note: dict[str, Any], clients: int) -> Counts:
    """The clients that were available, by their numbers.

    >>> who_was_there({"there": "a0"}, 4).tolist()
    [0, 2]
    """
    if note["there"] is None:
        return np.arange(clients)
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(note["there"]), np.uint8), count=clients)
    return np.flatnonzero(bits)


def _quantiles(values: Reals) -> list[float]:
    return [_short(one) for one in np.quantile(values, QUANTILES)]


def _short(value: float) -> float:
    return float(f"{value:.5g}")
