"""What page and paper draw alike of a whole comparison, as numbers and words."""

from dataclasses import dataclass

import numpy as np

from heteroselect.comparison.over_seeds import Arrivals
from heteroselect.comparison.report.curves import Floats, to_target, uniform_histogram
from heteroselect.comparison.report.load import Comparison
from heteroselect.comparison.report.style import PAPER, look
from heteroselect.settings import PaperRow

FEW_BITS = "— not float32"
RECONSTRUCTED = "* rule reconstructed from its paper's abstract"


@dataclass(frozen=True)
class Bar:
    """A bar as long as the median seed, the range over seeds, and what its length cannot say."""

    label: str
    colour: str
    value: float
    low: float
    high: float
    note: str


def target_bars(comparison: Comparison, axis: str) -> list[Bar]:
    """What each method takes to reach the target, then what the paper says it took."""
    bars = []
    for index, group in enumerate(comparison.groups):
        arrived = to_target(group.summaries, group.lines, axis)
        value, low, high, note = drawn(arrived) if group.counts(axis) else (0.0, 0.0, 0.0, FEW_BITS)
        bars.append(Bar(group.label, look(index).colour, value, low, high, note))
    for row in comparison.paper:
        value, note = _paper_figure(row, axis)
        bars.append(Bar(f"the paper: {row.source}", PAPER, value, value, value, note))
    return bars


def drawn(found: Arrivals) -> tuple[float, float, float, str]:
    """The length of a bar, its range and its note: nothing where the median seed did not arrive, and no upper end where
    some seed did not."""
    middle, reached = found.median, found.reached
    if middle is None:
        return 0.0, 0.0, 0.0, found.note if reached else "not reached"
    return middle, min(reached), max(reached) if found.whole else middle, found.note


def _paper_figure(row: PaperRow, axis: str) -> tuple[float, str]:
    """The paper's figure to target, or why it has none; real bytes it did not count."""
    if row.rounds_to_target is None:
        return 0.0, "not reached"
    value = {"seconds": row.seconds_to_target, "megabytes": row.megabytes_to_target}.get(axis)
    return (0.0, "not given") if value is None else (value, "")


def uniform_curves(comparison: Comparison) -> list[tuple[str, Floats]]:
    """A binomial for each different number of rounds, clients and selected clients, cut where it has died out."""
    found: dict[str, Floats] = {}
    for group in comparison.groups:
        lines = group.lines[0]
        selected = sum(len(set(line["selected"])) for line in lines) / len(lines)
        share = uniform_histogram(len(lines), group.clients, selected)
        last = int(np.flatnonzero(share > 1e-4)[-1])
        found[f"even chances: Binomial({len(lines)}, {selected / group.clients:.3g})"] = share[: last + 1]
    return list(found.items())
