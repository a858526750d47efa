"""One method with two of its settings crossed: all pairs of their values under one clock, and what each value and each
pair is worth.

    heteroselect compare mnist --cross method.select.kind=uniform,oort --cross method.compress.kind=none,stc

The runs are those of a study with these axes. A pair that cannot work is left out before the first run, with the
reason, and so is a run that failed, afterwards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from heteroselect.comparison.effects import Effects, decompose
from heteroselect.comparison.figures import FIGURES, Figure, Floats, Run
from heteroselect.comparison.grid import Cell, refuse_twice
from heteroselect.comparison.over_seeds import Arrivals
from heteroselect.comparison.study import Planned, RowTable, Study
from heteroselect.errors import SettingError
from heteroselect.runs.folder import read_rounds, read_summary
from heteroselect.settings.config import parse_changes

Axes = Mapping[str, Sequence[Any]]
Place = tuple[int, int]
"""Of a pair: the places of its two values."""


@dataclass(frozen=True)
class Outcome:
    """A figure of a run under another title. That of a cost is taken apart by factors: a codec that halves the bytes of
    every selector does not interact with any, however different these are. A sum of what the one axis decides and what
    the other decides (`total`) is no product of factors, so that there is nothing to test in its interaction."""

    title: str
    figure: Figure
    cost: bool = True
    total: bool = False

    @property
    def unit(self) -> str:
        return self.figure.unit

    @property
    def end(self) -> str:
        """Of a figure to target, which a run may never reach, the figure of what the run took in all."""
        return self.figure.end

    def shown(self, value: float) -> str:
        """A value of a cell."""
        if not self.cost:
            return f"{100 * value:.2f}"
        return f"{value:.2g}" if 0 < value < 0.1 else f"{value:.2f}" if value < 100 else f"{value:,.0f}"

    def effect(self, value: float) -> str:
        """What a level does to the mean: in points, or as a factor."""
        return f"× {np.exp(value):.3g}" if self.cost else f"{100 * value:+.2f}"


OUTCOMES = {
    "final_accuracy": Outcome("Final accuracy", FIGURES["last_accuracy"], cost=False),
    "seconds": Outcome("Simulated seconds in all", FIGURES["total_seconds"]),
    "megabytes_up": Outcome("Sent by clients, real bytes", FIGURES["total_wire_megabytes"]),
    "megabytes": Outcome("All traffic, real bytes", FIGURES["total_all_megabytes"], total=True),
    "seconds_to_target": Outcome("Simulated seconds to target", FIGURES["seconds_to_target"]),
    "megabytes_to_target": Outcome("Sent by clients to target, real bytes", FIGURES["wire_megabytes_to_target"]),
}


def read_axes(pairs: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """KEY=VALUE,VALUE,… as typed on the command line."""
    found: dict[str, tuple[Any, ...]] = {}
    for key, _, text in (pair.partition("=") for pair in pairs):
        values = (parse_changes([f"value={word}"])["value"] for word in text.split(",") if word.strip())
        found[key.strip()] = (*found.get(key.strip(), ()), *values)
    return found


@dataclass(frozen=True)
class Crossing:
    """A method and two axes, its runs, and the pairs that were refused, by the places of their values."""

    base: str
    axes: Axes
    seeds: tuple[int, ...]
    cells: Mapping[Place, Sequence[Cell]]
    refused: Mapping[Place, str] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        """What the axes are called: `method.select.kind` is select."""
        return [key.removeprefix("method.").removesuffix(".kind") for key in self.axes]

    @property
    def levels(self) -> list[list[str]]:
        return [[str(value) for value in values] for values in self.axes.values()]

    @property
    def all_cells(self) -> list[Cell]:
        """Seed by seed, so that a crossing that is interrupted has all pairs of the seeds it has."""
        return sorted((cell for same in self.cells.values() for cell in same), key=lambda cell: cell.seed)

    def pair(self, place: Place) -> str:
        """The name of a pair."""
        named = zip(self.keys, self.levels, place, strict=True)
        return " and ".join(f"{key} {levels[at]}" for key, levels, at in named)

    @cached_property
    def runs(self) -> dict[tuple[int, int, int], dict[str, Any]]:
        """What each run that has ended gave, by the places of its values and its seed."""
        found = {}
        for place, same in self.cells.items():
            for cell in (cell for cell in same if cell.done):
                run = Run(read_summary(cell.path), read_rounds(cell.path))
                figures = {name: outcome.figure.of(run) for name, outcome in OUTCOMES.items()}
                found[*place, self.seeds.index(cell.seed)] = {"summary": run.summary, **figures}
        return found

    def values(self, outcome: str) -> Floats:
        """Per pair and seed; NaN where there is no run, or the run has no such figure."""
        table = np.full((*(len(values) for values in self.axes.values()), len(self.seeds)), np.nan)
        for place, run in self.runs.items():
            table[place] = np.nan if run[outcome] is None else run[outcome]
        return table

    def arrivals(self, outcome: str, place: Place) -> Arrivals:
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
        values, cost = self.values(outcome), OUTCOMES[outcome].cost
        if any(run[outcome] is None for run in self.runs.values()) or (cost and (values <= 0).any()):
            return None
        return decompose(np.log(values) if cost else values)


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
    row, cross = RowTable(method=names[0]), {key: tuple(values) for key, values in axes.items()}
    return Study(row=(row,), preset=str(config), seeds=tuple(seeds), settings=dict(changes), cross=cross)


def arranged(study: Study, planned: Planned) -> Crossing:
    """The runs of a study of one row and two axes, as a table; every value works with at least one of the other
    axis."""
    (row,) = study.row
    places = list(np.ndindex(*map(len, study.cross.values())))
    labels = dict(zip(places, study.labels, strict=True))  # in the same order
    cells = {place: [cell for cell in planned.cells if cell.method == label] for place, label in labels.items()}
    refused = {place: planned.refused[label] for place, label in labels.items() if label in planned.refused}
    for axis, (key, values) in enumerate(study.cross.items()):
        for at, value in enumerate(values):
            same = [place for place in places if place[axis] == at]
            if not any(cells[place] for place in same):
                raise SettingError(f"--cross: {key}={value} works with no value of the other axis ({refused[same[0]]})")
    return Crossing(row.label, study.cross, study.seeds, cells, refused)
