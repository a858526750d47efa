"""From run folders to a page, and to figures for a paper (`report`), and from methods to all of that (`compare`)."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from heteroselect.cli.terminal import err, out, say, terminable
from heteroselect.errors import HeteroSelectError
from heteroselect.report import MARK
from heteroselect.settings.config import parse_changes


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Run folders, or folders that hold some.")],
    page: Annotated[
        Path, typer.Option("--out", help="The page to write; of files that exist only a report is replaced.")
    ] = Path("report.html"),
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Also draw PDF and PNG files fit for a paper.")
    ] = None,
) -> None:
    """Make one self-contained page of runs: curves, costs, selection, settings."""
    write(folders, page, figures, shlex.join(["heteroselect", *sys.argv[1:]]))


def compare(
    preset: Annotated[str, typer.Argument(help="A preset, or the path of a TOML file.")],
    names: Annotated[str, typer.Option("--methods", help="Methods with commas; differences are to the first.")],
    seeds: Annotated[str, typer.Option(help="Seeds with commas.")] = "42",
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one setting.")] = None,
    threads: Annotated[int | None, typer.Option(help="Clients at a time; the result does not depend on it.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where the data sets lie.")] = None,
    out_dir: Annotated[Path | None, typer.Option("--out", help="A folder; a grid in it is gone on with.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print compare.json and nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no table.")] = False,
) -> None:
    """Run methods under one clock, and write the table and the page of their difference."""
    from heteroselect.runs import grid as grids

    changes = parse_changes(set_ or [])
    if data_dir is not None:
        changes["data.dir"] = str(data_dir.absolute())
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    try:
        numbers = [int(seed) for seed in seeds.split(",") if seed.strip()]
    except ValueError:
        raise HeteroSelectError(f"--seeds: allowed are whole numbers with commas, not {seeds!r}.") from None
    path = out_dir or Path("compare") / Path(preset).stem
    cells = grids.grid(preset, chosen, numbers, changes, path)
    if not (path / "compare.md").exists():
        for name in ("compare.csv", "compare.json"):
            refuse_others(path / name, "--out", MARK)  # they hold no mark: they come and go with compare.md
    refuse_others(path / "compare.md", "--out", "Made by `heteroselect compare")
    refuse_others(path / "report.html", "--out", MARK)
    words = ["heteroselect", "compare", preset, "--methods", ",".join(chosen), "--seeds", ",".join(map(str, numbers))]
    command = " ".join([*words, *(word for pair in set_ or [] for word in ("--set", pair))])
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), TextColumn("left"))
    live = err.is_terminal and not quiet
    with terminable(), Progress(*columns, console=err, transient=True, disable=not live) as progress:
        task = progress.add_task("", total=sum(cell.config.last_round for cell in cells))
        failed: set[str] = set()
        for number, cell in enumerate(cells, 1):
            name = f"{cell.method}, seed {cell.seed} ({number} of {len(cells)})"
            progress.update(task, description=name)
            before = cell.done
            try:
                status = grids.play_cell(cell, threads=threads, watch=lambda _: progress.advance(task), warn=say)
            except HeteroSelectError as error:
                failed.add(cell.method)
                say(f"{name}: {error}")
                continue
            if status == "interrupted":
                err.print(f"interrupted; the same command goes on with {path}.", highlight=False, soft_wrap=True)
                raise typer.Exit(130)
            if before:
                progress.advance(task, cell.config.last_round)
            if not quiet and not live:
                err.print(f"{name}: {'was there' if before else status}", highlight=False, soft_wrap=True)
    cells = [cell for cell in cells if cell.method not in failed]
    if not cells:
        raise HeteroSelectError("compare: no method has come to its end.")
    table = grids.write(cells, path, command)
    write([path], path / "report.html", path / "figures", command)
    if as_json:
        typer.echo((path / "compare.json").read_text())
    elif not quiet:
        for places in grids.halves(out.width):
            shown = Table()
            for place in places:
                shown.add_column(grids.heads()[place], justify="right" if place else "left")
            for row in table:
                shown.add_row(*(grids.cells_of(row)[place] for place in places))
            out.print(shown)
        if any(row.reconstruction for row in table):
            out.print(grids.STAR, highlight=False)
        out.print(f"folder: {path}", highlight=False, soft_wrap=True)
    if failed:
        say(f"without {', '.join(sorted(failed))}, which did not come to an end")
        raise typer.Exit(1)


def write(folders: Sequence[Path], page: Path, figures: Path | None, command: str) -> None:
    """Read first, refuse next, write last: an error leaves nothing half done."""
    from heteroselect.report.load import compare  # the drawing libraries take a second to import

    comparison = compare(folders)
    from heteroselect.report.page import render

    refuse_others(page, "--out", MARK)
    text = render(comparison, command)
    drawn: list[Path] = []
    if figures is not None:
        from heteroselect.report import figures as paper

        for name in paper.names():
            refuse_others(figures / name, "--figures", MARK)
        drawn = paper.write(comparison, figures, MARK)
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise HeteroSelectError(f"--out: {page} cannot be written ({error.strerror}).") from error
    for sentence in comparison.left_out:
        typer.echo(sentence, err=True)
    for path in (page, *drawn):
        typer.echo(f"written: {path}", err=True)


def refuse_others(path: Path, option: str, mark: str) -> None:
    """A report may be made anew in place; nobody else's file is overwritten."""
    try:
        taken = path.exists() and mark.encode() not in path.read_bytes()
    except OSError as error:
        raise HeteroSelectError(f"{option}: {path} cannot be written ({error.strerror}).") from error
    if taken:
        raise HeteroSelectError(f"{option}: {path} exists and is no report of heteroselect; name another place.")
