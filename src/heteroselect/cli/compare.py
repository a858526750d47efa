"""heteroselect compare: methods and seeds under one clock, or pairs of two settings, and the tables of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heteroselect.cli import options
from heteroselect.cli.terminal import line, out, say, terminable
from heteroselect.runs.display.progress import note

if TYPE_CHECKING:
    from heteroselect.comparison.cross import Crossing
    from heteroselect.comparison.result import Comparison
    from heteroselect.comparison.table import Table as Compared

NAMES = "Names with commas, or your own, FILE.py:NAME; differences are to the first. With --cross one (fedavg)."
CHARGE = "What counts as time: everything (default, whatever the preset says), uplink or paper; see world.charge."
CROSS = "Give it twice to cross two settings of one method, as in method.select.kind=uniform,oort."
TUNED = "Each method with the settings that `heteroselect tune` found and left in this folder."
OUT = "A folder; an unfinished comparison in it is continued."


def compare(
    preset: options.Preset,
    names: Annotated[str, typer.Option("--methods", help=NAMES, show_default=False)] = "",
    seeds: options.Seeds = "42,43,44,45,46",
    rounds: options.Rounds = None,
    charge: Annotated[str | None, typer.Option(help=CHARGE)] = None,
    set_: options.Changes = None,
    crossed: Annotated[list[str] | None, typer.Option("--cross", metavar="KEY=VALUE,…", help=CROSS)] = None,
    tuned: Annotated[Path | None, typer.Option(metavar="DIR", help=TUNED)] = None,
    threads: options.Threads = None,
    data_dir: options.DataDir = None,
    out_dir: Annotated[Path | None, typer.Option("--out", help=OUT)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print compare.json and nothing else.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Run several methods under one clock and compare them."""
    from heteroselect.comparison import calls
    from heteroselect.comparison.cross import read_axes

    path = out_dir or Path("compare") / f"{Path(preset).stem}{'-cross' if crossed else ''}"
    with going_on(path):
        found = calls.compare(
            preset,
            options.listed(names) or (["fedavg"] if crossed else []),
            seeds=options.numbers("--seeds", seeds),
            rounds=rounds,
            charge=charge,
            settings=options.changes_of(set_, data_dir),
            cross=read_axes(crossed) if crossed else None,
            tuned=tuned,
            out=path,
            threads=threads,
            progress=not quiet,
            notice=None if quiet or as_json else note,
            warn=say,
        )
    if as_json:
        typer.echo((path / ("cross.json" if crossed else "compare.json")).read_text())
    elif not quiet:
        if found.crossing is not None:
            print_cross(found.crossing)
        else:
            print_table(found.table, path / "compare.md")
        line(f"folder: {path}")
    end(found)


@contextmanager
def going_on(path: Path) -> Iterator[None]:
    """Say how runs that are interrupted go on."""
    try:
        with terminable():
            yield
    except KeyboardInterrupt:
        note(f"interrupted; the same command continues {path}.")
        raise typer.Exit(130) from None


def end(found: "Comparison") -> None:
    """Say what is missing, with exit code 1."""
    missing = found.planned - len(found.rounds)
    if missing:
        say(f"{missing} of {found.planned} runs are not there yet: {', '.join(sorted(found.failed))}")
        raise typer.Exit(1)


def print_table(table: "Compared", file: Path) -> None:
    """Print the columns that the terminal has room for; `file` has all of them."""
    from rich.table import Table

    heads, *rows = table.cells()
    line(table.clock())
    tables, widths = table.fitting(out.width), [one.width for one in table.columns()]
    for places in tables:
        shown = Table()
        for at in places:
            shown.add_column(heads[at], justify="right" if at else "left", width=widths[at])
        for cells in rows:
            shown.add_row(*(cells[at] for at in places))
        out.print(shown)
    if len({at for places in tables for at in places}) < len(heads):
        line(f"All {len(heads)} columns are in {file}.")
    for text in table.notes():
        line(text)


def print_cross(found: "Crossing") -> None:
    """Print the final accuracies and the bytes of all pairs, and one sentence on how the two settings interact."""
    from rich.table import Column, Table

    from heteroselect.comparison import cross_table as tables
    from heteroselect.comparison.cross import OUTCOMES
    from heteroselect.comparison.over_seeds import in_line

    rows, columns = found.levels
    for name in ("final_accuracy", "megabytes_up"):
        outcome, effects = OUTCOMES[name], found.effects(name)
        title = f"{outcome.title}, {outcome.unit} ({found.keys[0]} × {found.keys[1]})"
        table = Table("", *(Column(column, justify="right") for column in columns), title=title, title_justify="left")
        for a, level in enumerate(rows):
            table.add_row(level, *(in_line(*tables.told(found, name, (a, b))) for b in range(len(columns))))
        out.print(table)
        if effects is not None:
            line(tables.interaction(outcome, effects))
