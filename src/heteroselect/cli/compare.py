"""heteroselect compare: methods and seeds under one clock, the table of their differences, and the page of all runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heteroselect.cli.cross import cross
from heteroselect.cli.options import Changes, DataDir, Preset, Quiet, Rounds, Threads, changes_of, numbers
from heteroselect.cli.terminal import out, say, terminable
from heteroselect.errors import HeteroSelectError
from heteroselect.extras import require
from heteroselect.runs.display.progress import err, note, shown

if TYPE_CHECKING:
    from heteroselect.comparison.grid import Cell
    from heteroselect.comparison.table import Table as Compared

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
    from heteroselect.comparison import grid as grids
    from heteroselect.comparison import work
    from heteroselect.comparison.tune import read as read_tuned

    chosen = [name.strip() for name in names.split(",") if name.strip()] or (["fedavg"] if crossed else [])
    counted = numbers("--seeds", seeds)
    changes = grids.clocked(changes_of(set_, data_dir, rounds=rounds), charge)
    options = {"--rounds": rounds, "--charge": charge, "--tuned": tuned}
    command = work.command_of(preset, chosen, counted, options, set_ or [])
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
    work.refuse_other_comparison(path, cells)
    if not (quiet or as_json):
        for text in dict.fromkeys(f"{cell.method}: {text}" for cell in cells for text in cell.loaded.brought):
            note(text)
    failed = run_cells(cells, path, threads=threads, quiet=quiet)
    comparison, said = work.finish(cells, path, command, failed=failed)
    for sentence in said:
        typer.echo(sentence, err=True)
    if as_json:
        typer.echo((path / "compare.json").read_text())
    elif not quiet:
        print_table(comparison.table, path / "compare.md")
        out.print(f"folder: {path}", highlight=False, soft_wrap=True)
    if failed:
        say(f"without {', '.join(sorted(failed))}, which did not come to an end")
        raise typer.Exit(1)


def run_cells(
    cells: "Sequence[Cell]", path: Path, *, threads: int | None, quiet: bool, minutes: float | None = None
) -> dict[str, str]:
    """Run all cells, or as many as can be started in so many minutes; returns rows that failed, and why."""
    from heteroselect.comparison import work

    live, total = err.is_terminal and not quiet, sum(cell.config.last_round for cell in cells)
    ended = note if not quiet and not live else lambda _: None
    try:
        with (
            terminable(),
            shown("terminal" if live else "nowhere", total) as show,
        ):
            return work.play(cells, show, ended=ended, warn=say, minutes=minutes, threads=threads)
    except KeyboardInterrupt:
        note(f"interrupted; the same command continues {path}.")
        raise typer.Exit(130) from None


def print_table(table: "Compared", file: Path) -> None:
    """The columns that the terminal has room for; `file` has all of them."""
    from rich.table import Table

    heads, *rows = table.cells()
    out.print(table.clock(), markup=False, highlight=False, soft_wrap=True)
    tables, widths = table.fitting(out.width), table.widths()
    for places in tables:
        shown = Table()
        for at in places:
            shown.add_column(heads[at], justify="right" if at else "left", width=widths[at])
        for cells in rows:
            shown.add_row(*(cells[at] for at in places))
        out.print(shown)
    if len({at for places in tables for at in places}) < len(heads):
        out.print(f"All {len(heads)} columns are in {file}.", markup=False, highlight=False, soft_wrap=True)
    for text in table.notes():
        out.print(text, markup=False, highlight=False, soft_wrap=True)
