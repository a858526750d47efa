"""One method with two of its settings crossed: all pairs of their values under one clock, and what each value and each
pair is worth.

    heteroselect compare mnist --cross method.select.kind=uniform,oort --cross method.compress.kind=none,stc

The runs are those of a study with these axes. A pair that cannot work is left out before the first run, with the
reason, and so is a run that failed, afterwards.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from heteroselect.errors import HeteroSelectError
from heteroselect.files import write_whole
from heteroselect.over_seeds import tail
from heteroselect.runs.effects import Effects, Estimate, Floats, decompose
from heteroselect.runs.folder import for_people, read_rounds, read_summary
from heteroselect.runs.grid import Cell
from heteroselect.runs.loop import KINDS_OF_BYTES
from heteroselect.runs.result import Line
from heteroselect.runs.study import Planned, RowTable, Study, plan
from heteroselect.runs.table import as_text
from heteroselect.settings.config import parse_changes
from heteroselect.world.clock import clock_sentence

MADE = "Made by `heteroselect compare"
Axes = Mapping[str, Sequence[Any]]
Summary = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """A figure of a run. That of a cost is taken apart by factors: a codec that halves the bytes of every selector does
    not interact with any, however different these are."""

    title: str
    unit: str
    of: Callable[[Summary, Sequence[Line]], float | None]
    cost: bool = True

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
    "megabytes": Outcome("All traffic, real bytes", "MB", _all_bytes),
    "seconds_to_target": Outcome("Simulated seconds to target", "s", lambda summary, _: summary["seconds_to_target"]),
    "megabytes_to_target": Outcome(
        "Sent by clients to target, real bytes", "MB", lambda summary, _: summary["wire_megabytes_to_target"]
    ),
}
"""The final accuracy is the mean of the last five evaluations."""


def read_axes(pairs: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Two times KEY=VALUE,VALUE,… as typed on the command line."""
    axes: dict[str, tuple[Any, ...]] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        words = [word.strip() for word in text.split(",") if word.strip()]
        values = tuple(parse_changes([f"{key}={word}"])[key.strip()] for word in words) if equals else ()
        if len(values) < 2 or len(set(values)) < len(values) or key.strip() in axes:
            raise HeteroSelectError(
                f"--cross: allowed are two settings, each with two or more values, as in "
                f"method.select.kind=uniform,oort, not {pair!r}."
            )
        axes[key.strip()] = values
    if len(axes) != 2:
        raise HeteroSelectError(f"--cross: allowed are two settings, each with its values, not {len(axes)}.")
    return axes


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
        """Seed by seed, so that a crossing that is broken off has all pairs of the seeds it has."""
        return sorted((cell for same in self.cells.values() for cell in same), key=lambda cell: cell.seed)

    @property
    def note(self) -> str:
        """How to read the tables, and what the seconds count."""
        return f"{NOTE} {clock_sentence(cell.config.world.charge for cell in self.all_cells)}"

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


def crossing(
    preset: str, base: str, axes: Axes, seeds: Sequence[int], changes: Mapping[str, Any], out: Path
) -> Crossing:
    """The grid of a method, checked: every value works with at least one of the other axis."""
    if not seeds or len(set(seeds)) < len(seeds):
        raise HeteroSelectError("--seeds: allowed are one or more whole numbers, each once.")
    row = RowTable(method=base)
    study = Study(
        row=(row,),
        preset=preset,
        seeds=tuple(seeds),
        settings=dict(changes),
        cross={k: tuple(v) for k, v in axes.items()},
    )
    return arranged(study, plan(study, out))


def arranged(study: Study, planned: Planned) -> Crossing:
    """The runs of a study of one row and two axes, as a table."""
    (row,), (first, second) = study.row, study.cross
    places = [(a, b) for a in range(len(study.cross[first])) for b in range(len(study.cross[second]))]
    labels = {
        place: f"{row.label}, {study.cross[first][place[0]]}, {study.cross[second][place[1]]}" for place in places
    }
    cells = {p: [cell for cell in planned.cells if cell.method == labels[p]] for p in places}
    refused = {p: planned.refused[labels[p]] for p in places if labels[p] in planned.refused}
    for axis, key in enumerate(study.cross):
        for at, value in enumerate(study.cross[key]):
            same = [place for place in places if place[axis] == at]
            if not any(cells[place] for place in same):
                reason = refused[same[0]]
                raise HeteroSelectError(f"--cross: {key}={value} works with no value of the other axis ({reason})")
    return Crossing(row.label, study.cross, row.seeds or study.seeds, cells, refused)


def spread(outcome: Outcome, values: Floats, joined: str = " ± ") -> str:
    """Mean and standard deviation of a cell over its seeds, or of how many of them; empty where there is none."""
    known = values[np.isfinite(values)]
    if not len(known):
        return ""
    text = outcome.shown(known.mean())
    if len(known) > 1:
        text += joined + outcome.shown(known.std(ddof=1))
    return text + (f" ({len(known)} of {len(values)})" if len(known) < len(values) else "")


def ranged(outcome: Outcome, one: Estimate) -> str:
    """An effect with its interval."""
    text = outcome.effect(one.value)
    if one.low is None or one.high is None:
        return text
    return f"{text} ({outcome.effect(one.low).removeprefix('× ')} to {outcome.effect(one.high).removeprefix('× ')})"


def interaction(outcome: Outcome, effects: Effects) -> str:
    """One sentence on how far pairs are from the sum of their values' effects."""
    size = effects.interaction
    if size is None:
        return "The pairs are too few to tell an interaction."
    text = f"Interaction (root mean square over pairs): {ranged(outcome, size).replace('+', '')}"
    if effects.p is not None:
        text += f"; so large an interaction would come by chance with p = {effects.p:.2g}"
    return text + "."


def effect_rows(crossing: Crossing, outcome: str, effects: Effects) -> list[list[str]]:
    """A line for each value of each axis: the axis, the value, its effect."""
    rows = []
    for key, levels, found in zip(crossing.keys, crossing.levels, (effects.rows, effects.columns), strict=True):
        rows += [[key, level, ranged(OUTCOMES[outcome], one)] for level, one in zip(levels, found, strict=True)]
    return rows


def brought(crossing: Crossing) -> list[str]:
    """What the values brought to other roles, in the words of `run`."""
    return list(dict.fromkeys(text for cell in crossing.all_cells for text in cell.loaded.brought))


def left_out(crossing: Crossing) -> list[str]:
    """A sentence for each pair that was refused, and each run that did not come to its end."""
    lines = [f"{crossing.pair(place)}: refused: {reason}" for place, reason in crossing.refused.items()]
    for place, same in crossing.cells.items():
        seeds = [str(cell.seed) for cell in same if not cell.done]
        lines += [f"{crossing.pair(place)}: no result with seed {', '.join(seeds)}."] if seeds else []
    return lines


NOTE = (
    "Mean ± standard deviation over seeds. An effect is what a value adds to the grand mean, in points of accuracy or "
    "as a factor of a cost; in brackets its 95 % interval, by a bootstrap over whole seeds. The interaction is what a "
    "pair has beyond the effects of its two values."
)


def markdown(crossing: Crossing, command: str) -> str:
    rows, columns = crossing.levels
    parts = [f"{MADE}{command.removeprefix('heteroselect compare')}`. {crossing.note}"]
    for name, outcome in OUTCOMES.items():
        values, effects = crossing.values(name), crossing.effects(name)
        parts.append(f"## {outcome.title}, {outcome.unit}")
        head = [" / ".join(crossing.keys), *columns]
        body = [
            [row, *(spread(outcome, values[a, b]) or crossing.missing((a, b)) for b in range(len(columns)))]
            for a, row in enumerate(rows)
        ]
        parts.append(_table(head, body))
        if effects is not None:
            parts.append(_table(["setting", "value", "effect"], effect_rows(crossing, name, effects)))
            parts.append(interaction(outcome, effects))
    if brought(crossing):
        parts += ["## What came with the values", "\n".join(f"- {line}" for line in brought(crossing))]
    missing = left_out(crossing)
    parts += ["## Pairs without a result", "\n".join(f"- {line}" for line in missing)] if missing else []
    return "\n\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _csv(crossing: Crossing) -> str:
    """A line for each run, and one for each pair that was refused."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*map(as_text, crossing.axes), "seed", "status", *OUTCOMES, "model_sha256", "refused"])
    for place, same in crossing.cells.items():
        named = [as_text(levels[at]) for levels, at in zip(crossing.levels, place, strict=True)]
        for cell in same:
            run = crossing.runs.get((*place, crossing.seeds.index(cell.seed)))
            figures = ["failed", *[""] * (len(OUTCOMES) + 1)]
            if run is not None:
                figures = [run["summary"]["status"], *(run[name] for name in OUTCOMES), run["summary"]["model_sha256"]]
            writer.writerow([*named, cell.seed, *figures, ""])
        if place in crossing.refused:
            writer.writerow([*named, "", "refused", *[""] * (len(OUTCOMES) + 1), as_text(crossing.refused[place])])
    return text.getvalue()


def _json(crossing: Crossing, command: str) -> dict[str, Any]:
    outcomes = {}
    for name in OUTCOMES:
        effects = crossing.effects(name)
        outcomes[name] = {
            "values": _plain(crossing.values(name)),
            "effects": None if effects is None else {key: _plain(value) for key, value in vars(effects).items()},
        }
    return {
        "command": command,
        "method": crossing.base,
        "axes": {key: list(values) for key, values in crossing.axes.items()},
        "seeds": list(crossing.seeds),
        "refused": {crossing.pair(place): reason for place, reason in crossing.refused.items()},
        "outcomes": outcomes,
    }


def _plain(value: Any) -> Any:
    """As JSON has it: no NaN, no arrays."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Estimate):
        return vars(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def write(crossing: Crossing, out: Path, command: str) -> None:
    """The tables as Markdown, CSV and JSON."""
    with for_people(out):
        write_whole(out / "cross.md", markdown(crossing, command).encode())
        write_whole(out / "cross.csv", _csv(crossing).encode())
        content = json.dumps(_json(crossing, command), indent=1, allow_nan=False)
        write_whole(out / "cross.json", (content + "\n").encode())
