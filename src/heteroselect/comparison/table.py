"""The table of a comparison: how good each method is, how soon, and at what cost.

Its columns are those FIGURES that the runs have. Methods are ranked by their final accuracy (`over_seeds.tail`). The
peak is shown, and ranks nobody: it is the luckiest of many evaluations. Equal bytes and equal seconds are the smallest
total of all runs, and the accuracy there is the same mean of the evaluations that are not later.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from heteroselect.comparison.figures import COST, FIGURES, NOTHING, SOON, Run, equal_costs
from heteroselect.comparison.over_seeds import FINAL, Arrivals, Interval, horizon, interval, number, rank, spread
from heteroselect.core.measure import Measure
from heteroselect.methods import REGISTRY
from heteroselect.methods.entry import footnotes
from heteroselect.settings.config import ONLY_WITH, flatten
from heteroselect.world.clock import clock_sentence

if TYPE_CHECKING:
    from heteroselect.comparison.report.load import Group
    from heteroselect.comparison.report.load import Run as Loaded

Summary = dict[str, Any]

FEW = 4
"""Seeds below which an interval says little: Student's factor is 12.7 for two, 4.3 for three and 2.8 for five."""
GOOD = ("last_accuracy", "accuracy_at_equal_bytes", "accuracy_at_equal_seconds")
NARROW = (*GOOD, f"{GOOD[0]}_difference", "seconds_to_target", "wire_megabytes_to_target", *COST[:3])
"""Figures of a narrow terminal."""
RESTRICTED = {field: f"{field}_restricted" for field in SOON if field != "rounds_to_target"}
CELLS = ("row", "method", "seed", "reconstruction", "status", "model_sha256")


@dataclass(frozen=True)
class Column:
    """A column: its group, its head, its cells, and the figure that it shows."""

    group: str
    head: str
    cells: Sequence[str]
    field: str = ""

    @property
    def narrow(self) -> bool:
        """Whether it is among the few of a narrow terminal."""
        return self.field in NARROW

    @property
    def width(self) -> int:
        """On a terminal: cells stand on one line, the head on up to three, broken between words."""
        width = max(map(len, self.head.split()))
        while len(wrap(self.head, width)) > 3:
            width += 1
        return max(width, *map(len, self.cells))


@dataclass(frozen=True)
class Row:
    """One method over its seeds: of each figure what every seed gave, None where it has none; what its runs took to the
    target; and its differences to the base, paired by seed, None where a seed has none."""

    group: "Group"
    figures: dict[str, list[float | None]]
    arrivals: dict[str, Arrivals]
    differences: dict[str, Interval | None]

    @property
    def method(self) -> str:
        return self.group.name

    @property
    def label(self) -> str:
        return self.group.label

    def counts(self, field: str) -> bool:
        """Whether a figure means something here: the paper counts values of 32 bits."""
        return self.group.sends_float32 or not FIGURES[field].note


@dataclass(frozen=True)
class Table:
    """Rows, and what they are compared by: the row that differences are to, which is the first that was named, the
    clocks, the smallest total of all runs (`budgets`), the common horizon of each figure to target, and what has to be
    said of single methods."""

    rows: list[Row]
    base: str
    ranked: bool
    clocks: Sequence[str]
    evaluated_on: Sequence[str]
    budgets: dict[str, float]
    horizons: dict[str, float | None]
    footnotes: Sequence[str]
    targets: Sequence[str]
    measure: Measure

    def columns(self) -> list[Column]:
        names = Column("", "method", [row.label for row in self.rows], "method")
        return [names, *self._good(), *self._soon(), *self._costs()]

    def _good(self) -> Iterator[Column]:
        percent = self.measure.unit == "%"
        for field in (*GOOD, "peak_accuracy"):
            cells = [spread(row.figures[field], "%" if percent else "") for row in self.rows]
            yield Column("how good", FIGURES[field].head(self.measure), cells, field)
            if len(self.rows) > 1 and field in GOOD:
                head = f"difference to {self.base}, {'points, ' if percent else ''}95 %"
                cells = [shown(row.differences[field], 100 if percent else 1) for row in self.rows]
                yield Column("how good", head, cells, f"{field}_difference")

    def _soon(self) -> Iterator[Column]:
        for field in SOON:
            arrived = [row.arrivals[field] if row.counts(field) else None for row in self.rows]
            cells = [NOTHING if one is None else one.text for one in arrived]
            yield Column("how soon", f"{FIGURES[field].head()}, median", cells, field)
            limit = self.horizons[field]
            if field in RESTRICTED and limit is not None:
                means = [NOTHING if one is None else number(one.restricted(limit)) for one in arrived]
                yield Column("how soon", f"restricted mean to {number(limit)}", means, RESTRICTED[field])

    def _costs(self) -> Iterator[Column]:
        for field in COST:
            if any(value for row in self.rows for value in row.figures[field]):
                cells = [spread(row.figures[field]) for row in self.rows]
                yield Column("at what cost", FIGURES[field].head(), cells, field)

    def cells(self) -> list[list[str]]:
        """The heads, and a line of text for each row."""
        columns = self.columns()
        return [[one.head for one in columns], *map(list, zip(*(one.cells for one in columns), strict=True))]

    def groups(self) -> list[list[int]]:
        """The columns of three tables: how good, how soon and at what cost, each with the names of the methods."""
        names = [one.group for one in self.columns()]
        return [[0, *(i for i, one in enumerate(names) if one == name)] for name in dict.fromkeys(names[1:])]

    def fitting(self, width: int) -> list[list[int]]:
        """The columns of the tables that a terminal shows: one of all columns where it is wide enough, else the columns
        that matter most, in as many tables as it takes so that nothing is cut."""
        columns = self.columns()
        widths = [one.width + 3 for one in columns]  # the frame's share
        if sum(widths) < width:
            return [list(range(len(widths)))]
        found = [[0]]
        for place in (place for place, one in enumerate(columns) if place and one.narrow):
            if len(found[-1]) > 1 and sum(widths[one] for one in (*found[-1], place)) >= width:
                found.append([0])
            found[-1].append(place)
        return found

    def clock(self) -> str:
        """By what the seconds are counted, in a sentence."""
        return clock_sentence(self.clocks)

    def notes(self) -> list[str]:
        """What the figures are, in sentences."""
        name = self.measure.name
        order = f"ranked by final {name}, {'not by the peak' if self.measure.higher else 'the lowest first'}"
        order = order if self.ranked else "in the order of the study"
        target = f"the target, {' or '.join(self.targets)}," if self.targets else "the target"
        megabytes, seconds = number(self.budgets["wire_megabytes"]), number(self.budgets["seconds"])
        found = [
            f"Rows are {order}. The final value is {FINAL}; values and costs are mean ± standard deviation over seeds.",
            f"Equal MB sent up are {megabytes} MB of real payloads (what goes down is not in them), equal seconds "
            f"{seconds} s: the smallest total of all runs. The value there is the same mean, of the evaluations until "
            "then.",
            f"To {target} it is the median seed and the range of the seeds; a seed that never arrives counts as later "
            "than all others. In the restricted mean it counts as the horizon, up to which every run was watched.",
        ]
        if self.evaluated_on != ["test"]:
            found += [f"Every {name} is on the {' or '.join(self.evaluated_on)} examples (data.evaluate)."]
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


def shown(found: Interval | None, scale: float = 1) -> str:
    """A difference with its interval, and ≈ before one that cannot be told apart from zero.

    >>> shown(Interval(0.5, -0.25, 1.25, "Student's t", 5)), shown(Interval(2, 1.5, 3, "BCa bootstrap", 20))
    ('≈ +0.50 ± 0.75', '+2.00 [+1.50, +3.00]')
    """
    if found is None:
        return ""
    text = f"{scale * found.mean:+.2f}"
    if found.low is None or found.high is None or found.half is None:
        return f"≈ {text}, one seed"
    if found.kind == "Student's t":
        text += f" ± {scale * found.half:.2f}"
    else:
        text += f" [{scale * found.low:+.2f}, {scale * found.high:+.2f}]"
    return text if found.apart else f"≈ {text}"


def make(groups: "Sequence[Group]", *, ranked: bool = True) -> tuple[Table, list[Summary]]:
    """The table, and what each run gave, with all its figures; differences are to the first group."""
    first, runs = groups[0], [run for group in groups for run in group.runs]
    budgets, measure = equal_costs(run.rounds for run in runs), Measure.of(first.runs[0].summary)
    given = {group.name: _given(group, budgets) for group in groups}
    rows = [_row(group, given[group.name], [] if group is first else given[first.name]) for group in groups]
    horizons = {field: horizon(row.arrivals[field] for row in rows if row.counts(field)) for field in SOON}
    summaries = [one for row in rows for one in _summaries(row.group, given[row.method], horizons)]
    if ranked:
        rows.sort(key=lambda row: rank(row.figures["last_accuracy"], higher=measure.higher))
    apart = without_their_own((str(run.summary["method"]), run.config) for run in runs) if len(groups) > 1 else []
    notes = [*footnotes(summaries), *apart]
    about = {"budgets": budgets, "horizons": horizons, "footnotes": notes, "measure": measure, **_about(runs)}
    return Table(rows, first.name, ranked, **about), summaries


def _summaries(group: "Group", given: Sequence[Summary], horizons: Mapping[str, float | None]) -> Iterator[Summary]:
    """What each run is told by: with all its figures, and those to target no later than the common horizon."""
    for run, figures in zip(group.runs, given, strict=True):
        early: Summary = {}
        for field, name in RESTRICTED.items():
            value, limit = figures[field], horizons[field]
            early[name] = None if limit is None else float(limit if value is None else min(value, limit))
        yield {**run.summary, "row": group.name, **figures, **early}


def _about(runs: "Sequence[Loaded]") -> dict[str, Any]:
    """What all runs go by: their clocks, the examples that they were evaluated on, and their targets."""
    return {
        "clocks": sorted({run.charge for run in runs}),
        "evaluated_on": sorted({str(run.summary.get("evaluated_on", "test")) for run in runs}),
        "targets": sorted({Measure.of(run.summary).short(run.summary["target"]) for run in runs}),
    }


def _given(group: "Group", budgets: Mapping[str, float]) -> list[Summary]:
    """Every figure of each run that a table shows, or counts by."""
    names = (*GOOD, "peak_accuracy", "final_accuracy", *SOON, *(FIGURES[one].end for one in SOON), *COST)
    runs = [Run(one.summary, one.rounds, budgets) for one in group.runs]
    return [{"seed": run.summary["seed"], **{name: FIGURES[name].of(run) for name in names}} for run in runs]


def without_their_own(runs: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Sentences on what methods set of data and model, which is left out where all runs are to share them; of each run
    the name of its method, and its settings."""
    found = {}
    for name, tables in runs:
        flat = flatten(tables)
        for key, value in (REGISTRY[name].settings if name in REGISTRY else {}).items():
            group, (other, needed) = key.partition(".")[0], ONLY_WITH.get(key, (key, flat.get(key)))
            if group in ("data", "model") and flat.get(other) == needed and flat.get(key) != value:
                text = f"{name} runs without {key} = {value}, which it has of its own"
                found[name, key] = f"{text}: all share the {group}"
    return list(found.values())


def _row(group: "Group", runs: Sequence[Summary], base: Sequence[Summary]) -> Row:
    """A row of what its runs gave; differences are to the runs of the `base` with the same seeds."""
    return Row(
        group,
        figures={name: [one[name] for one in runs] for name in runs[0] if name != "seed"},
        arrivals={name: arrivals(runs, name) for name in SOON},
        differences={name: _difference(name, runs, base) for name in GOOD},
    )


def _difference(field: str, runs: Sequence[Summary], base: Sequence[Summary]) -> Interval | None:
    """How much higher a figure is than that of the base with the same seed; None where a seed has no difference."""
    others = {one["seed"]: one[field] for one in base}
    pairs = [(one[field], others[one["seed"]]) for one in runs if one["seed"] in others]
    return interval([mine - other for mine, other in pairs]) if all(None not in pair for pair in pairs) else None


def arrivals(runs: Sequence[Mapping[str, Any]], field: str) -> Arrivals:
    """A figure to target over seeds, from what the runs are told by."""
    return Arrivals(tuple(one[field] for one in runs), tuple(one.get(FIGURES[field].end) for one in runs))
