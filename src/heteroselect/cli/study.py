"""heteroselect study: the runs that a file stands for, and the table and the page of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heteroselect.cli import options
from heteroselect.cli.compare import end, going_on, print_table
from heteroselect.cli.terminal import line, say
from heteroselect.runs.display.progress import note

if TYPE_CHECKING:
    from heteroselect.comparison.grid import Cell

FILE = "A preset, rows, seeds and axes to cross."
OUT = "A folder for the runs; what is there, or in a study's folder beside it, is not run again."
RESULTS = "Also put its rows and claims, with verdicts, into this file."


def study(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help=FILE)],
    out_dir: Annotated[Path | None, typer.Option("--out", help=OUT)] = None,
    also: Annotated[list[Path] | None, typer.Option(metavar="DIR", help="Take finished runs from here, too.")] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="ROW", help="Only this row; may be given again.")] = None,
    budget: Annotated[float | None, typer.Option(metavar="MINUTES", help="Start no run after so many minutes.")] = None,
    results: Annotated[Path | None, typer.Option(metavar="FILE.json", help=RESULTS)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be run, and for how long.")] = False,
    threads: options.Threads = None,
    data_dir: options.DataDir = None,
    quiet: options.Quiet = False,
) -> None:
    """Run what is missing of a study, and write its table and page."""
    from heteroselect.comparison import calls
    from heteroselect.comparison import study as studies

    path, settings = out_dir or Path("runs") / file.stem, options.changes_of(None, data_dir)
    if dry_run:
        planned = studies.plan(studies.read(file, settings), path, only or [], also or [])
        for label, reason in planned.refused.items():
            note(f"left out: {label}: {reason}")
        _print_left(planned.cells, file, results)
        return
    with going_on(path):
        found = calls.study(
            file,
            only=only or (),
            also=also or (),
            budget=budget,
            results=results,
            settings=settings,
            out=path,
            threads=threads,
            progress=not quiet,
            notice=None if quiet else note,
            warn=say,
        )
    if not quiet:
        print_table(found.table, path / f"{file.stem}.md")
        for sentence in found.claims:
            line(sentence)
        line(f"folder: {path}")
    end(found)


def _print_left(cells: "Sequence[Cell]", file: Path, results: Path | None) -> None:
    """Print what is left to run here, and for how long, and of how many of these a file of results has the figures."""
    from heteroselect.comparison.results import holds_results, recorded
    from heteroselect.comparison.study import estimate

    beside = file.parent / "results.json"  # where the studies of this repository keep theirs
    results = results or (beside if holds_results(beside) else None)
    left, seconds = estimate(cells)
    there = recorded(results, file.stem, left) if results is not None else []
    for cell in left:
        known = f"; its figures are in {results}" if any(cell is one for one in there) else ""
        line(f"{cell.method}, seed {cell.seed}: {cell.config.last_round} rounds{known}")
    pace = "" if seconds is None else f", about {seconds / 60:.0f} minutes at the pace of those that are there"
    also = f" (the figures of {len(there)} of them are in {results})" if there else ""
    line(f"{len(left)} of {len(cells)} runs are left{pace if left else ''}{also}.")
