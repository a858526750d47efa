"""What a comparison gives back in Python, and its tables and pages as files. Nothing in their folder is lost."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heteroselect.comparison import cross_table
from heteroselect.comparison import table as tables
from heteroselect.comparison.cross import Crossing
from heteroselect.comparison.grid import Cell
from heteroselect.comparison.report import MARK
from heteroselect.comparison.report.load import Group, comparison, grouped
from heteroselect.comparison.report.write import read_former, refuse_others, write_comparison
from heteroselect.comparison.table_files import save
from heteroselect.core.measure import Measure
from heteroselect.errors import FolderError, HeteroSelectError
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


def compared(
    cells: Sequence[Cell], failed: Mapping[str, str], command: str, *, crossing: Crossing | None = None, **more: Any
) -> Comparison:
    """The runs that have come to their end beside each other, of all those that were planned: without the rows that
    failed, of which a crossing keeps the other seeds."""
    done = [cell for cell in cells if cell.done and (crossing is not None or cell.method not in failed)]
    if not done:
        raise HeteroSelectError(f"{command}: no run has come to its end.")
    groups = grouped((cell.method, cell.path) for cell in done)
    table, runs = tables.make(groups, ranked=command == "compare" and crossing is None)
    return Comparison(
        table,
        runs,
        rounds={(group.name, run.seed): list(run.rounds) for group in groups for run in group.runs},
        failed={**{cell.method: "not run yet" for cell in cells if not cell.done}, **failed},
        crossing=crossing,
        planned=len(cells),
        groups=tuple(groups),
        **more,
    )


def written(
    found: Comparison, path: Path, stem: str, command: str, claims: Mapping[str, Any] | None = None
) -> list[str]:
    """Write the tables and the pages of a comparison; returns what there is to say about them."""
    if found.crossing is not None:
        from heteroselect.comparison.report import heatmap  # Matplotlib takes a second to import

        cross_table.write(found.crossing, path, command)
        heatmap.write(found.crossing, path, command)
        return []
    save(found.table, found.summaries, path, command, stem=stem, claims=claims)
    said: list[str] = []
    for end, groups in _pages(found.groups).items():
        shown = comparison(groups, ranked=found.table.ranked)
        said += write_comparison(shown, path / f"report{end}.html", path / f"figures{end}", command)
    return said


def _pages(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """The groups of each page, by what its name ends in: a page shows runs of one data set and one target."""
    found: dict[tuple[str, float | None, str], list[Group]] = {}
    for one in groups:
        summary = one.runs[0].summary
        name = Path(str(summary["dataset"])).stem
        found.setdefault((name, summary["target"], str(summary.get("evaluated_on", "test"))), []).append(one)
    if len(found) == 1:
        return {"": list(groups)}
    names = [name for name, _, _ in found]
    ends = [f"-{name}" + (f"-{place}" if names.count(name) > 1 else "") for place, name in enumerate(names, start=1)]
    return dict(zip(ends, found.values(), strict=True))


def refuse_to_lose(
    path: Path, stem: str, command: str, rows: Collection[str], seeds: Collection[int] | None = None
) -> None:
    """Refuse to write tables again in their place without a row (or a seed) that they have, and to write in the place
    of what is somebody else's."""
    for page in (path / "report.html", path / f"{stem}.html", *path.glob("report-*.html")):
        refuse_others(page, "--out", MARK)
    if not (path / f"{stem}.md").exists():  # the others hold no mark: they come and go with it
        for kind in ("csv", "json", "tex", "svg", "png"):
            refuse_others(path / f"{stem}.{kind}", "--out", MARK)
    refuse_others(path / f"{stem}.md", "--out", f"Made by `heteroselect {command}")
    there = _former_runs(path / f"{stem}.json")
    lost = [row for row, seed in there if row not in rows or (seeds is not None and seed not in seeds)]
    if lost:
        held = ", ".join(dict.fromkeys(row for row, _ in there))
        numbers = ", ".join(map(str, sorted({seed for _, seed in there})))
        raise FolderError(
            f"--out: {path / stem}.md has the rows {held} with the seeds {numbers}, some of which would be lost; ask "
            "for all of these too, or name a new folder."
        )


def _former_runs(file: Path) -> list[tuple[str, int]]:
    """The row and the seed of each run in tables that were written before; none where none can be lost."""
    there = read_former(file, "--out")
    try:
        return [(str(run["row"]), int(run["seed"])) for run in there["runs"]]
    except (ValueError, KeyError, TypeError, OverflowError):
        return []
