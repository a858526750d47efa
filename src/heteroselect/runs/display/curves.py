"""The curve of a run: its metric against rounds, simulated seconds or the megabytes that clients sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from heteroselect.errors import HeteroSelectError

AXES = {"rounds": "round", "seconds": "simulated seconds", "megabytes": "MB sent by clients"}
# Okabe and Ito's colours, which colour-blind readers can tell apart, less the yellow, which is lost on white
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")


@dataclass(frozen=True)
class Curve:
    """Points to be joined, in the colour at `place`; only some curves have a label."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    label: str = ""
    place: int = 0

    @property
    def colour(self) -> str:
        return COLOURS[self.place % len(COLOURS)]


def curve(lines: Sequence[Mapping[str, Any]], axis: str, label: str = "", place: int = 0) -> Curve:
    """The evaluations of a run, against one of AXES.

    >>> rounds = [{"round": t, "accuracy": a, "bytes_up": 5e5} for t, a in ((1, 0.5), (2, None), (3, 0.75))]
    >>> curve(rounds, "megabytes")
    Curve(x=(0.5, 1.5), y=(0.5, 0.75), label='', place=0)
    """
    if axis not in AXES:
        raise HeteroSelectError(f"axis: allowed are {', '.join(AXES)}, not {axis!r}.")
    if axis == "megabytes":
        spent = list(accumulate(line["bytes_up"] / 1e6 for line in lines))
    else:
        spent = [line["round" if axis == "rounds" else "cumulative_seconds"] for line in lines]
    found = [(x, line["accuracy"]) for x, line in zip(spent, lines, strict=True) if line["accuracy"] is not None]
    return Curve(tuple(float(x) for x, _ in found), tuple(float(y) for _, y in found), label, place)


def size(megabytes: float) -> str:
    """Return an amount with its unit, which is kB for a small one.

    >>> size(0.00137), size(0.0512), size(3.4), size(15200)
    ('1.4 kB', '51 kB', '3.40 MB', '15,200 MB')
    """
    if megabytes < 0.1:
        return f"{1000 * megabytes:.{1 if 0 < megabytes < 0.01 else 0}f} kB"
    return f"{megabytes:,.{2 if megabytes < 10 else 1 if megabytes < 1000 else 0}f} MB"
