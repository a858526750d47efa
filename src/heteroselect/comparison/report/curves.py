"""What a comparison shows, as numbers: curves, seed bands, counts. Nothing here draws or reads a file: each function
takes the lines of rounds.jsonl as plain mappings, of a run in memory or of a folder."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heteroselect.comparison.figures import COSTS, Floats, Lines, spent
from heteroselect.comparison.over_seeds import Arrivals
from heteroselect.world.note import who_was_there

AXES = {name: COSTS[name].axis for name in ("rounds", "seconds", "wire_megabytes", "megabytes")}
"""What accuracy is drawn against; the last is the paper's count."""

TRAFFIC = {name: one.label for name, one in COSTS.items() if one.unit == "MB" and len(one.fields) == 1 and not one.note}
PARTS = ("loss", "diversity", "fairness", "staleness")
SECONDS = {
    **{"compute": "computing", "up": "sending", "down": "fetching", "waiting": "waiting for the last"},
    **{"scoring": "scoring", "calibration": "calibration", "waited": "nobody there"},
}
FEW_BITS = "— not float32"
FACTOR = 10
"""Runs that differ by more than this factor in what they send are drawn on a logarithmic axis."""
POINTS, CELLS = 240, 250
"""Points of a curve and cells of a map, down and across: a page stays small, however long a run."""

Map = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Curve:
    x: Floats
    y: Floats


@dataclass(frozen=True)
class Band:
    """The mean over seeds, and their lowest and highest value."""

    x: Floats
    mean: Floats
    low: Floats
    high: Floats


def accuracy(lines: Lines, axis: str = "rounds") -> Curve:
    """Accuracy where it was evaluated, against what had been spent by then."""
    return values(lines, lambda line: line["accuracy"], axis)


def values(lines: Lines, pick: Callable[[Mapping[str, Any]], float | None], axis: str = "rounds") -> Curve:
    """Any number of a round, where it has one."""
    found = [pick(line) for line in lines]
    there = [i for i, value in enumerate(found) if value is not None]
    return Curve(spent(lines, axis)[there], np.array([found[i] for i in there], dtype=np.float64))


def band(curves: Sequence[Curve], points: int = 200) -> Band:
    """The curves of a method's seeds as one, over the stretch that all of them cover: a mean over fewer seeds than the
    rest would jump where one ends. Seeds seldom share their seconds and bytes, so each curve is read off a common grid
    by straight lines between its points."""
    if not curves or any(len(curve.x) == 0 for curve in curves):
        return Band(*[np.empty(0)] * 4)
    first = curves[0].x
    if all(np.array_equal(curve.x, first) for curve in curves):
        grid = first
    else:
        start, end = max(curve.x[0] for curve in curves), min(curve.x[-1] for curve in curves)
        shared = np.unique(np.concatenate([curve.x for curve in curves]))
        grid = shared[(shared >= start) & (shared <= end)]
        if len(grid) > points:
            grid = np.linspace(start, end, points)
    read = np.array([np.interp(grid, curve.x, curve.y) for curve in curves])
    return Band(grid, read.mean(axis=0), read.min(axis=0), read.max(axis=0))


def score_part(lines: Lines, part: str) -> Curve:
    """The mean of one part of the score over all clients; empty for a method that does not score by it."""
    return values(lines, lambda line: (line.get("score_parts") or {}).get(part))


def times_selected(lines: Lines, clients: int) -> npt.NDArray[np.int64]:
    """In how many rounds each client took part."""
    count = np.zeros(clients, dtype=np.int64)
    for line in lines:
        count[sorted(set(line["selected"]))] += 1
    return count


def selection_histogram(runs: Sequence[Lines], clients: int) -> Floats:
    """Share of the clients that took part in 0, 1, 2, … rounds, over all seeds; it adds up to 1."""
    counts = np.concatenate([times_selected(lines, clients) for lines in runs])
    return np.bincount(counts) / len(counts)


def uniform_histogram(rounds: int, clients: int, selected: float) -> Floats:
    """The same share if `selected` of the clients are drawn evenly each round: Binomial(T, M/K).

    >>> uniform_histogram(2, 4, 2).round(12).tolist()
    [0.25, 0.5, 0.25]
    """
    from scipy.stats import binom  # it takes a second to import

    share: Floats = binom.pmf(np.arange(rounds + 1), rounds, selected / clients)
    return share


def thinned(band: Band, most: int = POINTS) -> Band:
    """The same band with fewer of its points: of each stretch those at which it is highest and lowest stay, and both
    ends, so that no spike is lost and no point is made up."""
    if len(band.x) <= most:
        return band
    kept = {0, len(band.x) - 1}
    for stretch in np.array_split(np.arange(len(band.x)), max(1, (most - 2) // 4)):
        mean = band.mean[stretch]
        found = (mean.argmin(), mean.argmax(), band.low[stretch].argmin(), band.high[stretch].argmax())
        kept.update(int(stretch[one]) for one in found)
    return Band(*(values[sorted(kept)] for values in (band.x, band.mean, band.low, band.high)))


def by_client(lines: Lines, field: str, clients: int) -> Map:
    """A figure of each selected client and round; NaN for who was not selected."""
    return _map(clients, len(lines), ((line["selected"], line[field]) for line in lines))


def who_was_there_map(lines: Lines, clients: int) -> Map:
    """1 where a client was available in a round; NaN elsewhere."""
    there = (who_was_there(line["world"], clients) if line.get("world") else () for line in lines)
    return _map(clients, len(lines), ((who, np.ones(len(who))) for who in there))


def _map(clients: int, rounds: int, found: Iterable[tuple[Any, Any]]) -> Map:
    """Clients down and rounds across, of which each has the numbers and the values of some clients; the highest value
    where several share a cell."""
    down, across = (math.ceil(size / CELLS) for size in (clients, rounds))
    cells = np.full((math.ceil(clients / down), math.ceil(rounds / across)), np.nan, dtype=np.float32)
    for number, (who, values) in enumerate(found):
        np.fmax.at(cells[:, number // across], np.array(who, int) // down, np.array(values, np.float32))
    return cells


def megabytes_by_kind(runs: Sequence[Lines]) -> dict[str, float]:
    """Real megabytes of a whole run by kind, mean over seeds."""
    return {kind: sum(float(spent(lines, kind)[-1]) for lines in runs) / len(runs) for kind in TRAFFIC}


def events_by_kind(runs: Sequence[Lines]) -> dict[str, int]:
    """How often each kind of event happened, over all seeds; empty where none was recorded."""
    found = Counter(str(event["kind"]) for lines in runs for line in lines for event in line.get("events") or ())
    return dict(sorted(found.items()))


def seconds_by_part(runs: Sequence[Lines]) -> dict[str, float]:
    """Seconds of a round by what they went into, of the average selected client, as the mean over rounds and seeds.
    Their sum is the length of a round. What a client does after the server has stopped waiting does not count."""
    totals = dict.fromkeys(SECONDS, 0.0)
    found = notes(runs)
    for note in found:
        spent = {part: np.array(note[part], float) for part in ("compute", "up", "down")}
        whole = np.maximum(sum(spent.values()), 1e-12)
        counted = np.minimum(1.0, note["training"] / whole)
        shares = {part: float((counted * one).mean()) if len(one) else 0.0 for part, one in spent.items()}
        for part, seconds in (shares | {"waiting": note["training"] - sum(shares.values())}).items():
            totals[part] += seconds
        for part in ("scoring", "calibration", "waited"):
            totals[part] += note[part]
    return {part: total / max(1, len(found)) for part, total in totals.items()}


def times_waited_for(runs: Sequence[Lines], clients: int) -> npt.NDArray[np.int64]:
    """In how many rounds each client was the last that was waited for, over all seeds."""
    count = np.zeros(clients, dtype=np.int64)
    for lines in runs:
        for line in lines:
            note = line.get("world")
            if note and note["took"]:
                took = np.array(note["took"])
                took[took > note["training"] * (1 + 1e-3)] = -1.0  # it came too late, or was not needed any more
                count[line["selected"][int(took.argmax())]] += 1
    return count


def quantiles(runs: Sequence[Lines], field: str) -> Floats:
    """The five quantiles of a field, as the mean over rounds and seeds."""
    found: Floats = np.array([note[field] for note in notes(runs)], np.float64).mean(axis=0)
    return found


def notes(runs: Sequence[Lines]) -> list[Mapping[str, Any]]:
    """What the rounds of all seeds have noted."""
    return [line["world"] for lines in runs for line in lines if line.get("world")]


def bar_of(found: Arrivals) -> tuple[float, float, float, str]:
    """The length of a bar, its range and its note: nothing where the median seed did not arrive, and no upper end where
    some seed did not."""
    middle, reached = found.median, found.reached
    if middle is None:
        return 0.0, 0.0, 0.0, found.note if reached else "not reached"
    return middle, min(reached), max(reached) if found.whole else middle, found.note
