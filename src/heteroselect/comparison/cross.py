"""One method with two of its settings crossed: all pairs of their values under one clock, and what each value and each
pair is worth.

    heteroselect compare mnist --cross method.select.kind=uniform,oort --cross method.compress.kind=none,stc

The runs are those of a study with these axes. A pair that cannot work is left out before the first run, with the
reason, and so is a run that failed, afterwards.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from heteroselect.comparison.effects import Effects, Floats, decompose
from heteroselect.comparison.grid import Cell, refuse_twice
from heteroselect.comparison.over_seeds import Arrivals, tail
from heteroselect.comparison.study import Planned, RowTable, Study
from heteroselect.errors import SettingError
from heteroselect.runs.folder import read_rounds, read_summary
from heteroselect.runs.loop import KINDS_OF_BYTES
from heteroselect.runs.result import Line
from heteroselect.settings.config import parse_changes

Axes = Mapping[str, Sequence[Any]]
Summary = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """A figure of a run. That of a cost is taken apart by factors: a codec that halves the bytes of every selector does
    not interact with any, however different these are. One to the target, which a run may never reach, names what the
    run took in all (`end`). A sum of what the one axis decides and what the other decides (`total`) is no product of
    factors, so that there is nothing to test in its interaction."""

    title: str
    unit: str
    of: Callable[[Summary, Sequence[Line]], float | None]
    cost: bool = True
    end: str = ""
    total: bool = False

    def shown(self, value: float) -> str:
        """A value of a cell."""
        if not self.cost:
            return f"{100 * value:.2f}"
        return f"{value:.2g}" if 0 < value < 0.1 else f"{value:.2f}" if value < 100 else f"{value:,.0f}"

    def effect(self, value: float) -> str:
        """What a level does to the mean: in points, or as a factor."""
        return f"× {np.exp(value):.3g}" if self.cost else f"{100 * value:+.2f}"


def _all_bytes(summary: Summary, _: Sequence[Line]) -> float:
    return float(sum(summary[f"bytes_{kind}"] for kind in KINDS_OF_BYTES)) / 1e6


OUTCOMES: dict[str, Outcome] = {
    "final_accuracy": Outcome("Final accuracy", "%", lambda _, lines: tail(lines), cost=False),
    "seconds": Outcome("Simulated seconds in all", "s", lambda summary, _: summary["total_seconds"]),
    "megabytes_up": Outcome("Sent by clients, real bytes", "MB", lambda summary, _: summary["bytes_up"] / 1e6),
    "megabytes": Outcome("All traffic, real bytes", "MB", _all_bytes, total=True),
    "seconds_to_target": Outcome(
        "Simulated seconds to target", "s", lambda summary, _: summary["seconds_to_target"], end="total_seconds"
    ),
    "megabytes_to_target": Outcome(
        "Sent by clients to target, real bytes",
        "MB",
        lambda summary, _: summary["wire_megabytes_to_target"],
        end="total_wire_megabytes",
    ),
}
"""The final accuracy is that of `over_seeds.tail`."""


def read_axes(pairs: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """KEY=VALUE,VALUE,… as typed on the command line."""
    found: dict[str, tuple[Any, ...]] = {}
    for key, _, text in (pair.partition("=") for pair in pairs):
        values = (parse_changes([f"value={word}"])["value"] for word in text.split(",") if word.strip())
        found[key.strip()] = (*found.get(key.strip(), ()), *values)
    return found


def short(key: str) -> str:
    """What an axis is called: `method.select.kind` is select.

    >>> short("method.select.kind"), short("method.allocate.average"), short("rounds")
    ('select', 'allocate.average', 'rounds')
    """
    return key.removeprefix("method.").removesuffix(".kind")


@dataclass(frozen=True)
class Crossing:
    """A method and two axes, its runs, and the pairs that were refused, by the places of their values."""

    base: str
    axes: Axes
    seeds: tuple[int, ...]
    cells: Mapping[tuple[int, int], Sequence[Cell]]
    refused: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        return [short(key) for key in self.axes]

    @property
    def levels(self) -> list[list[str]]:
        return [[str(value) for value in values] for values in self.axes.values()]

    @property
    def all_cells(self) -> list[Cell]:
        """Seed by seed, so that a crossing that is interrupted has all pairs of the seeds it has."""
        return sorted((cell for same in self.cells.values() for cell in same), key=lambda cell: cell.seed)

    def pair(self, place: tuple[int, int]) -> str:
        """The name of a pair."""
        return " and ".join(
            f"{key} {levels[at]}" for key, levels, at in zip(self.keys, self.levels, place, strict=True)
        )

    @cached_property
    def runs(self) -> dict[tuple[int, int, int], dict[str, Any]]:
        """What each run that has ended gave, by the places of its values and its seed."""
        found = {}
        for place, same in self.cells.items():
            for cell in (cell for cell in same if cell.done):
                summary, lines = read_summary(cell.path), read_rounds(cell.path)
                figures = {name: outcome.of(summary, lines) for name, outcome in OUTCOMES.items()}
                found[*place, self.seeds.index(cell.seed)] = {"summary": summary, **figures}
        return found

    def values(self, outcome: str) -> Floats:
        """Per pair and seed; NaN where there is no run, or the run has no such figure."""
        table = np.full((*(len(values) for values in self.axes.values()), len(self.seeds)), np.nan)
        for place, run in self.runs.items():
            table[place] = np.nan if run[outcome] is None else run[outcome]
        return table

    def arrivals(self, outcome: str, place: tuple[int, int]) -> Arrivals:
        """A figure to target of a pair over its seeds; a run that failed has not arrived."""
        runs = [self.runs.get((*place, at)) for at in range(len(self.seeds))]
        values = tuple(None if run is None else run[outcome] for run in runs)
        return Arrivals(values, tuple(None if run is None else run["summary"][OUTCOMES[outcome].end] for run in runs))

    def middles(self, outcome: str) -> Floats:
        """Of each pair the mean over seeds, and the median of a figure to target, where a seed that never arrives is
        later than all others; NaN where it is not known. There is no mean over the seeds that happen to have one."""
        values = self.values(outcome)
        if not OUTCOMES[outcome].end:
            return np.asarray(values.mean(axis=2))
        return np.asarray(np.median(np.where(np.isnan(values), np.inf, values), axis=2))

    def effects(self, outcome: str) -> Effects | None:
        """None where a run lacks the figure: what is left would favour the pairs that lack it."""
        values = self.values(outcome)
        if any(run[outcome] is None for run in self.runs.values()):
            return None
        if OUTCOMES[outcome].cost:
            if not (values[np.isfinite(values)] > 0).all():
                return None
            values = np.log(values)
        return decompose(values)

    def missing(self, place: tuple[int, int]) -> str:
        """Why a cell is empty."""
        if place in self.refused:
            return "refused"
        return "not reached" if any(cell.done for cell in self.cells[place]) else "failed"


def study_of(
    config: Any, names: Sequence[str], axes: Axes, seeds: Sequence[int], changes: Mapping[str, Any], tuned: Any = None
) -> Study:
    """A method with two of its settings crossed, as a study of one row and two axes."""
    refuse_twice(names, seeds)
    if len(names) != 1 or isinstance(config, Mapping):
        raise SettingError("--methods: give one method (and a preset or a file) with --cross.")
    if tuned is not None:
        raise SettingError("--tuned: settings are tuned for a whole method; leave out --tuned or --cross.")
    if len(axes) != 2 or any(len(set(values)) < max(2, len(values)) for values in axes.values()):
        raise SettingError(
            "--cross: give two settings, each with two or more values, as in --cross method.select.kind=uniform,oort "
            "--cross method.compress.kind=none,stc."
        )
    cross = {key: tuple(values) for key, values in axes.items()}
    return Study(
        row=(RowTable(method=names[0]),), preset=str(config), seeds=tuple(seeds), settings=dict(changes), cross=cross
    )


def arranged(study: Study, planned: Planned) -> Crossing:
    """The runs of a study of one row and two axes, as a table; every value works with at least one of the other
    axis."""
    (row,), levels = study.row, list(study.cross.values())
    pairs = product(*(enumerate(values) for values in levels))
    labels = {(a, b): f"{row.label}, {first}, {second}" for (a, first), (b, second) in pairs}
    cells = {place: [cell for cell in planned.cells if cell.method == label] for place, label in labels.items()}
    refused = {place: planned.refused[label] for place, label in labels.items() if label in planned.refused}
    for axis, (key, values) in enumerate(study.cross.items()):
        for at, value in enumerate(values):
            same = [place for place in cells if place[axis] == at]
            if not any(cells[place] for place in same):
                raise SettingError(f"--cross: {key}={value} works with no value of the other axis ({refused[same[0]]})")
    return Crossing(row.label, study.cross, row.seeds or study.seeds, cells, refused)
