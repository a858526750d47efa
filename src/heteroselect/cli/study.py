"""heteroselect study: the runs that a file stands for, and the table and the page of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heteroselect.cli.compare import print_table, run_cells
from heteroselect.cli.options import DataDir, Quiet, Threads
from heteroselect.cli.terminal import out, say
from heteroselect.extras import require
from heteroselect.runs.display.progress import note

if TYPE_CHECKING:
    from heteroselect.comparison.grid import Cell


def study(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="A preset, rows, seeds and axes to cross.")],
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A folder for the runs; what is there, or in a study's folder beside it, is not run again."
        ),
    ] = None,
    also: Annotated[
        list[Path] | None, typer.Option("--also", metavar="DIR", help="Take finished runs from here, too.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="ROW", help="Only this row; may be given again.")] = None,
    budget: Annotated[float | None, typer.Option(metavar="MINUTES", help="Start no run after so many minutes.")] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="Also put its rows and claims, with verdicts, into this file."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be run, and for how long.")] = False,
    threads: Threads = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
) -> None:
    """Run what is missing of a study, and write its table and its page."""
    from heteroselect.comparison import results as kept
    from heteroselect.comparison import study as studies
    from heteroselect.comparison import work

    found = studies.read(file)
    if data_dir is not None:
        found = found.model_copy(update={"settings": {**found.settings, "data.dir": str(data_dir)}})
    path = out_dir or Path("runs") / file.stem
    planned = studies.plan(found, path, only or [], also or [])
    if found.title and not quiet:
        note(found.title)
    for label, reason in planned.refused.items():
        note(f"left out: {label}: {reason}")
    if dry_run:
        beside = file.parent / "results.json"  # where the studies of this repository keep theirs
        _print_left(planned.cells, file.stem, results or (beside if kept.holds_results(beside) else None))
        return
    require("report", "study")
    work.refuse_other_study(path, file.stem, found.labels)
    if results is not None:
        kept.read(results)
    failed = run_cells(planned.cells, path, threads=threads, quiet=quiet, minutes=budget)
    command = f"heteroselect study {file}"
    comparison, said = work.finish_study(found, file.stem, planned, path, command, failed=failed, results=results)
    for sentence in said:
        typer.echo(sentence, err=True)
    if not quiet:
        print_table(comparison.table, path / f"{file.stem}.md")
        for sentence in comparison.claims:
            out.print(sentence, markup=False, highlight=False)
        out.print(f"folder: {path}", highlight=False, soft_wrap=True)
    missing = sum(cell.method in failed or not cell.done for cell in planned.cells)
    if missing:
        say(f"{missing} of {len(planned.cells)} runs are not there yet")
        raise typer.Exit(1)


def _print_left(cells: "Sequence[Cell]", study: str, results: Path | None) -> None:
    """What is left to run here, and for how long, and of how many of these a file of results has the figures."""
    from heteroselect.comparison.results import recorded
    from heteroselect.comparison.study import estimate

    left, seconds = estimate(cells)
    there = recorded(results, study, left) if results is not None else []
    for cell in left:
        known = f"; its figures are in {results}" if any(cell is one for one in there) else ""
        text = f"{cell.method}, seed {cell.seed}: {cell.config.last_round} rounds{known}"
        out.print(text, markup=False, highlight=False, soft_wrap=True)
    pace = "" if seconds is None else f", about {seconds / 60:.0f} minutes at the pace of those that are there"
    also = f" (the figures of {len(there)} of them are in {results})" if there else ""
    typer.echo(f"{len(left)} of {len(cells)} runs are left{pace if left else ''}{also}.")
