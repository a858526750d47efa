"""heteroselect study: the runs that a file stands for, and the table and the page of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from heteroselect.cli.compare import print_table, run_cells
from heteroselect.cli.options import DataDir, Quiet, Threads
from heteroselect.cli.report import refuse_others, write
from heteroselect.cli.terminal import note, out, say
from heteroselect.errors import HeteroSelectError
from heteroselect.extras import require
from heteroselect.report import MARK


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
    from heteroselect.runs import results as kept
    from heteroselect.runs import study as studies
    from heteroselect.runs import table as tables

    found = studies.read(file)
    if data_dir is not None:
        found = found.model_copy(update={"settings": {**found.settings, "data.dir": str(data_dir)}})
    path = out_dir or Path("runs") / file.stem
    planned = studies.plan(found, path, only or [], also or [])
    if found.title and not quiet:
        note(found.title)
    left, seconds = studies.estimate(planned.cells)
    for label, reason in planned.refused.items():
        note(f"left out: {label}: {reason}")
    if dry_run:
        for cell in left:
            out.print(
                f"{cell.method}, seed {cell.seed}: {cell.config.last_round} rounds", markup=False, highlight=False
            )
        pace = "" if seconds is None else f", about {seconds / 60:.0f} minutes at the pace of those that are there"
        typer.echo(f"{len(left)} of {len(planned.cells)} runs are left{pace if left else ''}.")
        return
    require("report", "study")
    refuse_others(path / "report.html", "--out", MARK)
    refuse_other_tables(path, file.stem, found.labels)
    if results is not None:
        kept.read(results)
    failed = run_cells(planned.cells, path, threads=threads, quiet=quiet, minutes=budget)
    done = [cell for cell in planned.cells if cell.method not in failed and cell.done]
    if not done:
        raise HeteroSelectError("study: no run has come to its end.")
    command = f"heteroselect study {file}"
    rows = kept.collect(found, file.stem, planned, command)
    claims = {kept.sentence(claim): claim for claim in rows["claims"]}
    table = tables.write(done, path, command, stem=file.stem, claims=claims, ranked=False)
    write(sorted({cell.path for cell in done}), path / "report.html", path / "figures", command)
    if results is not None:
        kept.merge(results, rows)
    if not quiet:
        print_table(table)
        for sentence in claims:
            out.print(sentence, markup=False, highlight=False)
        out.print(f"folder: {path}", highlight=False, soft_wrap=True)
    if failed or len(done) < len(planned.cells):
        say(f"{len(planned.cells) - len(done)} of {len(planned.cells)} runs are not there yet")
        raise typer.Exit(1)


def refuse_other_tables(path: Path, stem: str, labels: Sequence[str]) -> None:
    """The tables of a study are written again in their place only by one that has all of their rows."""
    from heteroselect.files import read_json

    names = [f"{stem}.{kind}" for kind in ("csv", "json", "tex")]
    for name in [] if (path / f"{stem}.md").exists() else names:
        refuse_others(path / name, "--out", MARK)  # they hold no mark: they come and go with the .md
    refuse_others(path / f"{stem}.md", "--out", "Made by `heteroselect study")
    try:
        there = dict.fromkeys(str(run["row"]) for run in read_json(path / f"{stem}.json")["runs"])
    except (OSError, ValueError, KeyError, TypeError):  # there is none, or none that could be lost
        return
    if other := [row for row in there if row not in labels]:
        raise HeteroSelectError(
            f"--out: {path / stem}.md is of another study, with the rows {', '.join(other)}; allowed is a new folder, "
            "or a study that has these rows, too."
        )
