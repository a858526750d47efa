"""Every figure that runs are compared by: its name, label, unit and direction, and how the rounds of a run give it.

Terminal, Markdown, LaTeX, page and results.json draw from FIGURES. What a run spends is a `Cost`, which gives two
figures: what it took to the target, and what it took in all. A new kind of traffic is one more line of COSTS.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from heteroselect.comparison.over_seeds import number, tail
from heteroselect.core.measure import ACCURACY, Measure
from heteroselect.runs.display.curves import size

Lines = Sequence[Mapping[str, Any]]
Floats = npt.NDArray[np.float64]

NOTHING = "—"


@dataclass(frozen=True)
class Cost:
    """Something that every round spends, by these fields of its line in rounds.jsonl."""

    name: str
    label: str
    unit: str
    fields: tuple[str, ...]
    short: str
    """the label and the unit at the head of a column"""
    note: str = ""
    total: str = ""
    """the name of the figure in all, where it is not total_NAME"""

    @property
    def axis(self) -> str:
        """The title of an axis, without the unit where that is the label."""
        return ", ".join(filter(None, (self.label, self.note, self.unit)))


BYTES = ("bytes_up", "bytes_down", "bytes_scoring", "bytes_calibration")
COSTS = {
    one.name: one
    for one in (
        Cost("rounds", "rounds", "", ("round",), "rounds", total="rounds_run"),
        Cost("seconds", "simulated time", "s", ("cumulative_seconds",), "s"),
        Cost("wire_megabytes", "sent by clients", "MB", ("bytes_up",), "MB up"),
        Cost("megabytes", "sent by clients", "MB", ("bytes_up_paper",), "MB up", note="values only"),
        Cost("down_megabytes", "models sent to clients", "MB", ("bytes_down",), "MB down"),
        Cost("scoring_megabytes", "sent for scoring", "MB", ("bytes_scoring",), "MB scoring"),
        Cost("calibration_megabytes", "sent for calibration", "MB", ("bytes_calibration",), "MB calibration"),
        Cost("all_megabytes", "sent both ways", "MB", BYTES, "MB both ways"),
    )
}


def spent(lines: Lines, cost: str) -> Floats:
    """Return what each round, with all before it, has cost: rounds, seconds or MB.

    >>> spent([{"bytes_up": 2e6}, {"bytes_up": 1e6}], "wire_megabytes").tolist()
    [2.0, 3.0]
    """
    fields = COSTS[cost].fields
    amounts = np.array([sum(line[name] for name in fields) for line in lines], dtype=np.float64)
    return np.cumsum(amounts) / 1e6 if COSTS[cost].unit == "MB" else amounts


@dataclass(frozen=True)
class Run:
    """What a figure is computed from: a run's summary, its rounds, and the equal costs of its comparison."""

    summary: Mapping[str, Any]
    lines: Lines
    budgets: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def measure(self) -> Measure:
        return Measure.of(self.summary)

    @cached_property
    def evaluated(self) -> list[float]:
        return [line["accuracy"] for line in self.lines if line["accuracy"] is not None]

    @cached_property
    def reached(self) -> int | None:
        """How many rounds it took to the target; None where the target was not reached."""
        known = (line for line in self.lines if line["accuracy"] is not None)
        target = self.summary["target"]
        return next((int(line["round"]) for line in known if self.measure.reached(line["accuracy"], target)), None)

    def spent(self, cost: str, rounds: int | None) -> float | None:
        """What so many rounds cost."""
        if rounds is None or cost == "rounds":
            return rounds
        return float(spent(self.lines[:rounds], cost)[-1]) if rounds and self.lines else 0.0


@dataclass(frozen=True)
class Figure:
    """A number that a run yields, or None. The unit "%" stands for that of the run's metric; `end` is, of a figure to
    target, the figure of what the run took in all."""

    name: str
    label: str
    unit: str
    of: Callable[[Run], float | None]
    higher_is_better: bool = False
    end: str = ""
    note: str = ""
    """how it is counted, where that means something only for values of 32 bits"""
    short: str = ""
    """the head of a column, where that is not the label and the unit"""

    def title(self, measure: Measure = ACCURACY) -> str:
        """The label, of the metric by its name."""
        if self.unit != "%":
            return self.label
        label = self.label.replace("accuracy", measure.name)
        return label if measure.higher else label.replace("peak", "lowest")

    def head(self, measure: Measure = ACCURACY) -> str:
        """The label and the unit, for a column of numbers."""
        if self.short:
            return self.short
        unit = measure.unit if self.unit == "%" else self.unit
        return f"{self.title(measure)}, {unit}" if unit else self.title(measure)

    def text(self, value: float | None, measure: Measure = ACCURACY) -> str:
        """A value with its unit, where it stands alone.

        >>> FIGURES["total_wire_megabytes"].text(0.0042), FIGURES["rounds_to_target"].text(None)
        ('4.2 kB', 'not reached')
        """
        if value is None:
            return "not reached" if self.end else NOTHING
        if self.unit == "%":
            return measure.text(value)
        if self.unit == "share":
            return ACCURACY.text(value)
        return size(value) if self.unit == "MB" else f"{number(value)} {self.unit}".rstrip()


def _of_cost(cost: Cost) -> tuple[Figure, Figure]:
    """What a run spent until it reached the target, and in all."""
    name, total, note = cost.name, cost.total or f"total_{cost.name}", f" ({cost.note})" if cost.note else ""

    def figure(key: str, label: str, of: Callable[[Run], float | None], end: str = "") -> Figure:
        short = ", ".join(filter(None, (f"{cost.short} {label}", cost.note)))
        return Figure(key, f"{cost.label} {label}{note}", cost.unit, of, end=end, note=cost.note, short=short)

    return (
        figure(f"{name}_to_target", "to target", lambda run: run.spent(name, run.reached), total),
        figure(total, "in all", lambda run: run.spent(name, len(run.lines))),
    )


def _at_equal(cost: str) -> Callable[[Run], float | None]:
    """The final accuracy of the rounds before more was spent than the smallest total of all runs; None where no
    evaluation is as early, and for a run that is not compared."""

    def of(run: Run) -> float | None:
        if cost not in run.budgets:
            return None
        early = spent(run.lines, cost) <= run.budgets[cost] * (1 + 1e-9)
        return tail(run.lines[: int(early.sum())])

    return of


def _noted(name: str, label: str, unit: str, *, higher: bool = True) -> Figure:
    """A figure that only the summary has."""
    return Figure(name, label, unit, lambda run: run.summary.get(name), higher)


FIGURES = {
    one.name: one
    for one in (
        Figure("last_accuracy", "final accuracy", "%", lambda run: tail(run.lines), True),
        Figure("accuracy_at_equal_bytes", "accuracy at equal MB sent up", "%", _at_equal("wire_megabytes"), True),
        Figure("accuracy_at_equal_seconds", "accuracy at equal seconds", "%", _at_equal("seconds"), True),
        Figure("peak_accuracy", "peak accuracy", "%", lambda run: run.measure.best(run.evaluated), True),
        Figure("final_accuracy", "last accuracy", "%", lambda run: run.evaluated[-1] if run.evaluated else None, True),
        *(one for cost in COSTS.values() for one in _of_cost(cost)),
        _noted("client_accuracy_mean", "accuracy on a client's own labels", "share"),
        _noted("client_accuracy_worst_tenth", "… of the worst tenth of clients", "share"),
        _noted("client_accuracy_std", "… standard deviation over clients", "share", higher=False),
        _noted("client_accuracy_never_selected", "… of clients that were never selected", "share"),
        _noted("unseen_accuracy", "accuracy on unseen owners", "%"),
        _noted("participation_jain", "evenness of participation (Jain)", ""),
        _noted("bytes_jain", "evenness of bytes sent (Jain)", ""),
        _noted("parameters", "parameters", "", higher=False),
        Figure("wall_seconds", "wall time", "s", lambda run: run.summary.get("wall_seconds"), short="wall s"),
    )
}  # fmt: skip
TO_TARGET = tuple(name for name, one in FIGURES.items() if one.end)
SOON = tuple(f"{cost}_to_target" for cost in ("rounds", "seconds", "wire_megabytes", "megabytes"))
"""What tables show of the way to the target, and what of all costs."""
COST = (*(f"total_{name}" for name, one in COSTS.items() if one.unit == "MB" and not one.note), "wall_seconds")


def equal_costs(runs: Iterable[Lines]) -> dict[str, float]:
    """Return what all runs are compared at: the smallest total of all, in MB that clients sent and in seconds.

    >>> lines = [{"bytes_up": 4e6, "cumulative_seconds": 1.0}, {"bytes_up": 3e6, "cumulative_seconds": 2.0}]
    >>> equal_costs([lines, [{"bytes_up": 5e6, "cumulative_seconds": 6.0}]])
    {'wire_megabytes': 5.0, 'seconds': 2.0}
    """
    found = list(runs)
    return {
        cost: min(float(spent(lines, cost)[-1]) if lines else 0.0 for lines in found)
        for cost in ("wire_megabytes", "seconds")
    }


def figures_of(lines: Lines, target: float, measure: Measure = ACCURACY) -> dict[str, Any]:
    """Return every figure that follows from the rounds of a run alone, and its seconds by each clock that they have
    noted."""
    run = Run({"target": target, "metric": measure.as_dict()}, lines)
    accuracies, in_all = ("last_accuracy", "peak_accuracy", "final_accuracy"), (FIGURES[one].end for one in TO_TARGET)

    def by_clock(rounds: int | None) -> dict[str, float | None]:
        clocks = lines[0]["seconds_by_charge"] if lines else ()
        first = lines[:rounds]
        return {
            one: None if rounds is None else sum(line["seconds_by_charge"][one] for line in first) for one in clocks
        }

    return {
        **{name: FIGURES[name].of(run) for name in (*accuracies, *TO_TARGET, *in_all)},
        "seconds_to_target_by_clock": by_clock(run.reached),
        "total_seconds_by_clock": by_clock(len(lines)),
    }
