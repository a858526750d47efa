"""What is made of the runs of a grid: tables, pages, and what Python gives back. Nothing in their folder is lost."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from heteroselect.comparison import table as tables
from heteroselect.comparison.grid import Cell
from heteroselect.comparison.report import MARK
from heteroselect.comparison.report.load import Group, comparison, grouped
from heteroselect.comparison.report.write import read_former, refuse_others, write_comparison
from heteroselect.comparison.result import Comparison
from heteroselect.comparison.table_files import save
from heteroselect.errors import FolderError, HeteroSelectError


def ended(cells: Sequence[Cell], failed: Collection[str], command: str) -> list[Cell]:
    """The cells of all rows that have not failed whose runs have come to their end."""
    done = [cell for cell in cells if cell.done and cell.method not in failed]
    if not done:
        raise HeteroSelectError(f"{command}: no run has come to its end.")
    return done


def compared(
    cells: Sequence[Cell], done: Sequence[Cell], failed: Mapping[str, str], *, ranked: bool, **more: Any
) -> Comparison:
    """The runs that are `done` beside each other, of all those that were planned."""
    groups = grouped((cell.method, cell.path) for cell in done)
    table, runs = tables.make(groups, ranked=ranked)
    rounds = {(group.name, run.seed): list(run.rounds) for group in groups for run in group.runs}
    left = {**{cell.method: "not run yet" for cell in cells if not cell.done}, **failed}
    return Comparison(table, runs, rounds, failed=left, planned=len(cells), groups=tuple(groups), **more)


def written(
    found: Comparison,
    path: Path,
    stem: str,
    command: str,
    claims: Mapping[str, Any] | None = None,
) -> list[str]:
    """Write the tables and the page of a comparison; returns what there is to say about them."""
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
