"""What a comparison gives back in Python."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heteroselect.comparison import table as tables
from heteroselect.comparison.cross import Crossing
from heteroselect.comparison.report.load import Group
from heteroselect.core.measure import Measure
from heteroselect.runs.display.curves import AXES, Curve, curve
from heteroselect.runs.display.frame import frame, plot
from heteroselect.runs.display.html import chart, table
from heteroselect.runs.result import Line


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Runs beside each other. In a notebook it shows itself as a table and a curve for each run."""

    table: tables.Table
    """a row per method, with its figures over seeds and its differences to the first; `cells()` has it as text"""
    summaries: list[dict[str, Any]]
    """of each run what is in its summary.json, and what it is compared by; its `row` and its `seed` name it"""
    rounds: dict[tuple[str, int], list[Line]]
    """of each run, by row and seed, what is in its rounds.jsonl"""
    folder: Path | None = None
    """where the runs are kept, if they are: `read(folder / row / "seed-42")` gives one of them"""
    failed: dict[str, str] = field(default_factory=dict)
    """rows that have not come to their end, and why"""
    claims: tuple[str, ...] = ()
    """of a study, each with its verdict"""
    crossing: Crossing | None = None
    """of two crossed settings, with `effects(figure)` of each value and each pair"""
    planned: int = 0
    """how many runs there are when all have come to their end"""
    groups: tuple[Group, ...] = ()
    """the runs of each row, for its page"""

    def __repr__(self) -> str:
        names = ", ".join(row.label for row in self.table.rows)
        runs = "1 run" if len(self.rounds) == 1 else f"{len(self.rounds)} runs"
        return f"<Comparison of {names}: {runs}{f' in {self.folder}' if self.folder else ''}>"

    @property
    def measure(self) -> Measure:
        """What the models were evaluated by."""
        return Measure.of(self.summaries[0])

    def _repr_html_(self) -> str:
        heads, *rows = self.table.cells()
        groups = self.table.groups()
        parts = [table([heads[at] for at in one], [[row[at] for at in one] for row in rows]) for one in groups]
        target = self.summaries[0]["target"]
        claims = table(("claims",), [[one] for one in self.claims]) if self.claims else ""
        return "".join([*parts, chart(self._curves("seconds"), AXES["seconds"], self.measure, target), claims])

    def _curves(self, axis: str) -> list[Curve]:
        """A curve per run, and a label per row."""
        places = {row.method: place for place, row in enumerate(self.table.rows)}
        labels, found = {row.method: row.label for row in self.table.rows}, []
        for (name, _), lines in self.rounds.items():
            found.append(curve(lines, axis, labels.pop(name, ""), places[name]))
        return found

    def to_frame(self) -> Any:
        """A pandas.DataFrame with a line per run, by its row and its seed (needs pandas)."""
        return frame(self.summaries, ["row", "seed"])

    def plot(self, axis: str = "seconds", *, ax: Any = None) -> Any:
        """Draw the metric of all runs against simulated "seconds", "rounds" or "megabytes" sent, one colour per row, on
        new axes or on `ax` of Matplotlib, which are returned."""
        return plot(self._curves(axis), AXES[axis], self.measure, self.summaries[0]["target"], ax)
