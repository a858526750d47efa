"""heteroselect compare: methods and seeds under one clock, the table of their differences, and the page of all runs."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heteroselect.cli.cross import cross
from heteroselect.cli.options import Changes, DataDir, Preset, Quiet, Rounds, Threads, changes_of, numbers
from heteroselect.cli.report import refuse_others, write
from heteroselect.cli.terminal import err, note, out, progress_bar, say, terminable
from heteroselect.errors import HeteroSelectError
from heteroselect.extras import require
from heteroselect.report import MARK

if TYPE_CHECKING:
    from heteroselect.runs.grid import Cell
    from heteroselect.runs.table import Table as Compared

Charge = Annotated[
    str | None,
    typer.Option(help="The clock, whatever the preset's is: everything (default), uplink or paper; see world.charge."),
]
Crossed = Annotated[
    list[str] | None,
    typer.Option(
        "--cross",
        metavar="KEY=VALUE,…",
        help="Two times: cross two settings of one method, as in method.select.kind=uniform,oort.",
    ),
]
Tuned = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Each method with the settings that `heteroselect tune` found and left in this folder."
    ),
]


def compare(
    preset: Preset,
    names: Annotated[
        str,
        typer.Option(
            "--methods",
            help="Names with commas, or your own, FILE.py:NAME; differences are to the first one. With --cross one "
            "method, by default fedavg.",
            show_default=False,
        ),
    ] = "",
    seeds: Annotated[str, typer.Option(help="Seeds with commas.")] = "42,43,44,45,46",
    rounds: Rounds = None,
    charge: Charge = None,
    set_: Changes = None,
    crossed: Crossed = None,
    tuned: Tuned = None,
    threads: Threads = None,
    data_dir: DataDir = None,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="A folder; an unfinished comparison in it is continued.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print compare.json and nothing else.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run several methods under one clock and compare them."""
    require("report", "compare")
    from heteroselect.runs import grid as grids
    from heteroselect.runs import table as tables
    from heteroselect.runs.tune import read as read_tuned

    chosen = [name.strip() for name in names.split(",") if name.strip()] or (["fedavg"] if crossed else [])
    counted = numbers("--seeds", seeds)
    changes = grids.clocked(changes_of(set_, data_dir, rounds=rounds), charge)
    words = ["heteroselect", "compare", preset, "--methods", ",".join(chosen), "--seeds", ",".join(map(str, counted))]
    words += [] if rounds is None else ["--rounds", str(rounds)]
    words += [] if charge is None else ["--charge", charge]
    words += [] if tuned is None else ["--tuned", str(tuned)]
    command = " ".join([*words, *(word for pair in set_ or [] for word in ("--set", pair))])
    if crossed:
        if tuned is not None:
            raise HeteroSelectError(
                "--tuned: settings are tuned for a whole method; allowed is only one of it and --cross."
            )
        path = out_dir or Path("compare") / f"{Path(preset).stem}-cross"
        command = " ".join([command, *(word for pair in crossed for word in ("--cross", pair))])
        grid = (preset, chosen, crossed, counted, changes, path, command)
        cross(*grid, threads=threads, as_json=as_json, quiet=quiet)
        return
    path = out_dir or Path("compare") / Path(preset).stem
    found = None if tuned is None else read_tuned(tuned, chosen, counted)
    cells = grids.grid(preset, chosen, counted, changes, path, found)
    if not (path / "compare.md").exists():
        for name in ("compare.csv", "compare.json", "compare.tex"):
            refuse_others(path / name, "--out", MARK)  # they hold no mark: they come and go with compare.md
    refuse_others(path / "compare.md", "--out", "Made by `heteroselect compare")
    refuse_others(path / "report.html", "--out", MARK)
    refuse_fewer(path, {(cell.method, cell.seed) for cell in cells})
    if not (quiet or as_json):
        for text in dict.fromkeys(f"{cell.method}: {text}" for cell in cells for text in cell.loaded.brought):
            note(text)
    failed = run_cells(cells, path, threads=threads, quiet=quiet)
    cells = [cell for cell in cells if cell.method not in failed]
    if not cells:
        raise HeteroSelectError("compare: no method has come to its end.")
    table = tables.write(cells, path, command)
    write([path], path / "report.html", path / "figures", command)
    if as_json:
        typer.echo((path / "compare.json").read_text())
    elif not quiet:
        print_table(table)
        out.print(f"folder: {path}", highlight=False, soft_wrap=True)
    if failed:
        say(f"without {', '.join(sorted(failed))}, which did not come to an end")
        raise typer.Exit(1)


def refuse_fewer(path: Path, runs: set[tuple[str, int]]) -> None:
    """A comparison may be given more methods and seeds; without some of its own its tables would lose them."""
    from heteroselect.files import read_json

    try:
        there = {(str(run["row"]), int(run["seed"])) for run in read_json(path / "compare.json")["runs"]}
    except (OSError, ValueError, KeyError, TypeError):  # there is none, or none that could be lost
        return
    if there - runs:
        names, seeds = (sorted({one[place] for one in there}, key=str) for place in (0, 1))
        raise HeteroSelectError(
            f"--out: {path} holds a comparison of {', '.join(map(str, names))} with the seeds "
            f"{', '.join(map(str, seeds))}; allowed are these and more, or a new folder."
        )


def run_cells(
    cells: "Sequence[Cell]", path: Path, *, threads: int | None, quiet: bool, minutes: float | None = None
) -> set[str]:
    """Run all cells, or as many as can be started in so many minutes; returns the rows of those that failed."""
    from heteroselect.runs import grid as grids

    live = err.is_terminal and not quiet
    failed, began = set[str](), time.monotonic()
    with terminable(), progress_bar(disable=not live) as progress:
        task = progress.add_task("", total=sum(cell.config.last_round for cell in cells))
        for number, cell in enumerate(cells, 1):
            name = f"{cell.method}, seed {cell.seed} ({number} of {len(cells)})"
            progress.update(task, description=name)
            before = cell.done
            if not before and minutes is not None and time.monotonic() - began > 60 * minutes:
                continue
            try:
                status = grids.play_cell(cell, threads=threads, watch=lambda _: progress.advance(task), warn=say)
            except Exception as error:  # whatever it is: the others are run all the same
                failed.add(cell.method)
                say(f"{name}: {'' if isinstance(error, HeteroSelectError) else type(error).__name__ + ': '}{error}")
                continue
            if status == "interrupted":
                note(f"interrupted; the same command continues {path}.")
                raise typer.Exit(130)
            if before:
                progress.advance(task, cell.config.last_round)
            if not quiet and not live:
                note(f"{name}: {'was there' if before else status}")
    return failed


def print_table(table: "Compared") -> None:
    from rich.table import Column, Table

    heads, *rows = table.cells()
    out.print(table.clock(), markup=False, highlight=False, soft_wrap=True)
    for places in table.parts(out.width):
        shown = Table(*(Column(heads[place], justify="right" if place else "left") for place in places))
        for cells in rows:
            shown.add_row(*(cells[place] for place in places))
        out.print(shown)
    for text in table.notes():
        out.print(text, markup=False, highlight=False, soft_wrap=True)
