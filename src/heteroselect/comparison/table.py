"""The table of a comparison: how good each method is, how soon, and at what cost.

Methods are ranked by their final accuracy (`over_seeds.tail`). The peak is shown, and ranks nobody:
it is the luckiest of many evaluations. Equal bytes and equal seconds are the smallest total of all runs, and the
accuracy there is the same mean of the evaluations that are not later.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import wrap
from typing import Any

from heteroselect.comparison.grid import Cell
from heteroselect.comparison.over_seeds import (
    FINAL,
    Arrivals,
    Interval,
    at_equal_costs,
    equal_costs,
    horizon,
    interval,
    number,
    rank,
    spread,
    tail,
)
from heteroselect.core.measure import Measure
from heteroselect.methods import REGISTRY
from heteroselect.methods.entry import footnotes
from heteroselect.runs.folder import read_rounds, read_summary
from heteroselect.runs.result import Line
from heteroselect.settings.config import ONLY_WITH, flatten
from heteroselect.world.clock import clock_sentence

Summary = dict[str, Any]
Column = tuple[str, str, Callable[["Row"], str], bool]
"""a group of columns, a head, the cell of a row, and whether it is among the few of a narrow terminal"""

FEW = 4
"""Seeds below which an interval says little: Student's factor is 12.7 for two, 4.3 for three and 2.8 for five."""
HEADLINE = {
    "last_accuracy": "final accuracy",
    "accuracy_at_equal_bytes": "accuracy at equal MB sent up",
    "accuracy_at_equal_seconds": "accuracy at equal seconds",
}
TO_TARGET = {
    "rounds_to_target": "rounds to target",
    "seconds_to_target": "s to target",
    "megabytes_to_target": "MB to target, values only",
    "wire_megabytes_to_target": "MB to target, real",
}
ENDS = {
    "rounds_to_target": "rounds_run",
    "seconds_to_target": "total_seconds",
    "megabytes_to_target": "total_megabytes",
    "wire_megabytes_to_target": "total_wire_megabytes",
}
"""What a run took in all, of each figure to target."""
RESTRICTED = {field: f"{field}_restricted" for field in TO_TARGET if field != "rounds_to_target"}
COSTS = {
    "total_wire_megabytes": "MB up in all",
    "down_megabytes": "MB down in all",
    "scoring_megabytes": "MB scoring in all",
    "wall_seconds": "wall s",
}


@dataclass(frozen=True)
class Row:
    """One method over its seeds: of each figure what every seed gave, None where it has none; what its runs took to the
    target; and its differences to the base, paired by seed, None where a seed has none."""

    method: str
    reconstruction: bool
    sends_float32: bool
    figures: dict[str, list[float | None]]
    arrivals: dict[str, Arrivals]
    differences: dict[str, Interval | None]

    @property
    def label(self) -> str:
        return self.method + ("*" if self.reconstruction else "")


@dataclass(frozen=True)
class Table:
    """Rows, and what they are compared by: the row that differences are to, the clocks, the smallest total of all runs
    (`budgets`), the common horizon of each figure to target, and what has to be said of single methods."""

    rows: list[Row]
    base: str
    ranked: bool
    clocks: Sequence[str]
    evaluated_on: Sequence[str]
    budgets: dict[str, float]
    horizons: dict[str, float | None]
    footnotes: Sequence[str] = ()
    targets: Sequence[str] = ()

    def columns(self) -> Iterator[Column]:
        yield "", "method", lambda row: row.label, True
        for field, name in HEADLINE.items():
            first = field == "last_accuracy"
            yield "how good", f"{name}, %", partial(_accuracy, field), True
            if len(self.rows) > 1:
                yield "how good", f"difference to {self.base}, points, 95 %", partial(_difference, field), first
        yield "how good", "peak, %", partial(_accuracy, "peak_accuracy"), False
        for field, name in TO_TARGET.items():
            brief = field in ("seconds_to_target", "wire_megabytes_to_target")
            yield "how soon", f"{name}, median", partial(_arrival, field), brief
            limit = self.horizons[field]
            if field in RESTRICTED and limit is not None:
                yield "how soon", f"restricted mean to {number(limit)}", partial(_restricted, field, limit), False
        for field, name in COSTS.items():
            yield "at what cost", name, partial(_cost, field), field != "wall_seconds"

    def cells(self) -> list[list[str]]:
        """The heads, and a line of text for each row."""
        columns = list(self.columns())
        return [[head for _, head, _, _ in columns], *([cell(row) for _, _, cell, _ in columns] for row in self.rows)]

    def groups(self) -> list[list[int]]:
        """The columns of three tables: how good, how soon and at what cost, each with the names of the methods."""
        names = [group for group, _, _, _ in self.columns()]
        return [[0, *(i for i, one in enumerate(names) if one == name)] for name in dict.fromkeys(names[1:])]

    def widths(self) -> list[int]:
        """Of each column on a terminal: cells stand on one line, heads on up to three."""
        return [max(_narrowest(head), *map(len, rest)) for head, *rest in zip(*self.cells(), strict=True)]

    def fitting(self, width: int) -> list[list[int]]:
        """The columns of the tables that a terminal shows: one of all columns where it is wide enough, else the columns
        that matter most, in as many tables as it takes so that nothing is cut."""
        columns, widths = list(self.columns()), [one + 3 for one in self.widths()]  # the frame's share
        if sum(widths) < width:
            return [list(range(len(widths)))]
        found = [[0]]
        for place in range(1, len(widths)):
            if not columns[place][3]:
                continue
            if len(found[-1]) > 1 and sum(widths[one] for one in (*found[-1], place)) >= width:
                found.append([0])
            found[-1].append(place)
        return found

    def clock(self) -> str:
        """By what the seconds are counted, in a sentence."""
        return clock_sentence(self.clocks)

    def notes(self) -> list[str]:
        """What the figures are, in sentences."""
        order = "ranked by final accuracy, not by the peak" if self.ranked else "in the order of the study"
        target = f"the target, {' or '.join(self.targets)}," if self.targets else "the target"
        megabytes, seconds = number(self.budgets["bytes"] / 1e6), number(self.budgets["seconds"])
        found = [
            f"Rows are {order}. Final accuracy is {FINAL}; accuracies and costs are mean ± standard deviation over "
            "seeds.",
            f"Equal MB sent up are {megabytes} MB of real payloads (what goes down is not in them), equal seconds "
            f"{seconds} s: the smallest total of all runs. Accuracy there is the same mean, of the evaluations until "
            "then.",
            f"To {target} it is the median seed and the range of the seeds; a seed that never arrives counts as later "
            "than all others. In the restricted mean it counts as the horizon, up to which every run was watched.",
        ]
        if self.evaluated_on != ["test"]:
            found += [f"Every accuracy is on the {' or '.join(self.evaluated_on)} examples (data.evaluate)."]
        known = [one for row in self.rows for one in row.differences.values() if one is not None]
        if known:
            kinds = " and ".join(dict.fromkeys(one.kind for one in known if one.pairs > 1)) or "none, of a single seed"
            found += [
                f"Differences are to {self.base}, paired by seed, with their 95 % interval ({kinds}), each on its own; "
                "≈ marks those that cannot be told apart from zero."
            ]
            if 1 < min(one.pairs for one in known) < FEW:
                found += [f"With fewer than {FEW} seeds these intervals are very wide; five or more are better."]
        return found + [f"{note}." for note in self.footnotes]


def _narrowest(head: str) -> int:
    """The smallest width in which a head has three lines, broken between words."""
    width = max(map(len, head.split()))
    while len(wrap(head, width)) > 3:
        width += 1
    return width


def _accuracy(field: str, row: Row) -> str:
    return spread(row.figures[field], "%")


def _cost(field: str, row: Row) -> str:
    return spread(row.figures[field])


def _arrival(field: str, row: Row) -> str:
    few_bits = field == "megabytes_to_target" and not row.sends_float32  # the paper counts values of 32 bits
    return "—" if few_bits else row.arrivals[field].text


def _restricted(field: str, limit: float, row: Row) -> str:
    return number(row.arrivals[field].restricted(limit))


def _difference(field: str, row: Row) -> str:
    found = row.differences.get(field)
    return "" if found is None else shown(found, 100)


def shown(found: Interval, scale: float = 1) -> str:
    """A difference with its interval, and ≈ before one that cannot be told apart from zero.

    >>> shown(Interval(0.5, -0.25, 1.25, "Student's t", 5)), shown(Interval(2, 1.5, 3, "BCa bootstrap", 20))
    ('≈ +0.50 ± 0.75', '+2.00 [+1.50, +3.00]')
    """
    text = f"{scale * found.mean:+.2f}"
    if found.low is None or found.high is None or found.half is None:
        return f"≈ {text}, one seed"
    if found.kind == "Student's t":
        text += f" ± {scale * found.half:.2f}"
    else:
        text += f" [{scale * found.low:+.2f}, {scale * found.high:+.2f}]"
    return text if found.apart else f"≈ {text}"


def make(cells: Sequence[Cell], *, ranked: bool = True) -> tuple[Table, list[Summary]]:
    """The table, and what each run gave; differences are to the method of the first cell."""
    found: dict[tuple[str, int], Summary] = {}
    lines: dict[tuple[str, int], list[Line]] = {}
    for cell in cells:
        key = cell.method, cell.seed
        found[key], lines[key] = read_summary(cell.path), read_rounds(cell.path)
    names = list(dict.fromkeys(cell.method for cell in cells))
    budgets = equal_costs(lines.values())
    for key, summary in found.items():
        summary["row"] = key[0]
        summary["last_accuracy"] = tail(lines[key])
        summary["down_megabytes"] = summary["bytes_down"] / 1e6
        summary["scoring_megabytes"] = summary["bytes_scoring"] / 1e6
        summary |= at_equal_costs(lines[key], budgets)
    by_name = {name: {seed: one for (other, seed), one in found.items() if other == name} for name in names}
    rows = [_row(name, by_name[name], by_name[names[0]]) for name in names]
    if ranked:
        rows = sorted(rows, key=lambda row: rank(row.figures["last_accuracy"]))
    horizons = {field: horizon(row.arrivals[field] for row in rows) for field in TO_TARGET}
    for summary in found.values():
        for field, name in RESTRICTED.items():
            limit = horizons[field]
            value = Arrivals((summary[field],), (None,))
            summary[name] = None if limit is None else value.restricted(limit)
    clocks = sorted({cell.config.world.charge for cell in cells})
    judged = sorted({cell.config.data.evaluate for cell in cells})
    asked = ((cell.loaded.method.name, cell.config.model_dump(include={"data", "model"})) for cell in cells)
    below = [*footnotes(found.values()), *without_their_own(asked)]
    targets = sorted({Measure.of(one).short(one["target"]) for one in found.values()})
    return Table(rows, names[0], ranked, clocks, judged, budgets, horizons, below, targets), list(found.values())


def without_their_own(runs: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Sentences on what methods set of data and model, which is left out where all runs are to share them; of each run
    the name of its method, and its tables of data and model."""
    found = {}
    for name, tables in runs:
        flat, own = flatten(tables), REGISTRY[name].settings if name in REGISTRY else {}
        for key, value in own.items():
            group, (other, needed) = key.partition(".")[0], ONLY_WITH.get(key, (key, flat.get(key)))
            if group in ("data", "model") and flat.get(other) == needed and flat.get(key) != value:
                text = f"{name} runs without {key} = {value}, which it has of its own"
                found[name, key] = f"{text}: all share the {group}"
    return list(found.values())


def _row(name: str, runs: Mapping[int, Summary], base: Mapping[int, Summary]) -> Row:
    summaries = list(runs.values())
    shared = [seed for seed in runs if seed in base] if runs is not base else []
    differences: dict[str, Interval | None] = {}
    for field in HEADLINE:
        pairs = [(runs[seed][field], base[seed][field]) for seed in shared]
        whole = all(None not in pair for pair in pairs)
        differences[field] = interval([mine - other for mine, other in pairs]) if whole else None
    return Row(
        name,
        bool(summaries[0].get("reconstruction")),
        bool(summaries[0].get("sends_float32", True)),
        {field: [one[field] for one in summaries] for field in (*HEADLINE, "peak_accuracy", *TO_TARGET, *COSTS)},
        {field: arrivals(summaries, field) for field in TO_TARGET},
        differences,
    )


def arrivals(summaries: Sequence[Mapping[str, Any]], field: str) -> Arrivals:
    """A figure to target over seeds, from what the runs are told by."""
    return Arrivals(tuple(one[field] for one in summaries), tuple(one.get(ENDS[field]) for one in summaries))
