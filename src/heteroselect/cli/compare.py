"""heteroselect compare: methods and seeds under one clock, or pairs of two settings, and the tables of them."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heteroselect.cli.options import (
    Changes,
    DataDir,
    Preset,
    Quiet,
    Rounds,
    Seeds,
    Threads,
    changes_of,
    listed,
    numbers,
)
from heteroselect.cli.terminal import out, say, terminable
from heteroselect.runs.display.progress import note

if TYPE_CHECKING:
    from heteroselect.comparison.cross import Crossing
    from heteroselect.comparison.result import Comparison
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
        help="Give it twice to cross two settings of one method, as in method.select.kind=uniform,oort.",
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
    seeds: Seeds = "42,43,44,45,46",
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
    from heteroselect.comparison import calls
    from heteroselect.comparison.cross import read_axes

    stem = "cross" if crossed else "compare"
    path = out_dir or Path("compare") / f"{Path(preset).stem}{'-cross' if crossed else ''}"
    with going_on(path):
        found: Comparison = inspect.unwrap(calls.compare)(
            preset,
            listed(names) or (["fedavg"] if crossed else []),
            seeds=numbers("--seeds", seeds),
            rounds=rounds,
            charge=charge,
            settings=changes_of(set_, data_dir),
            cross=read_axes(crossed) if crossed else None,
            tuned=tuned,
            out=path,
            threads=threads,
            progress=not quiet,
            notice=None if quiet or as_json else note,
            warn=say,
        )
    if as_json:
        typer.echo((path / f"{stem}.json").read_text())
    elif not quiet:
        if found.crossing is not None:
            print_cross(found.crossing)
        else:
            print_table(found.table, path / "compare.md")
        out.print(f"folder: {path}", highlight=False, soft_wrap=True)
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
    """The columns that the terminal has room for; `file` has all of them."""
    from rich.table import Table

    heads, *rows = table.cells()
    out.print(table.clock(), markup=False, highlight=False, soft_wrap=True)
    tables, widths = table.fitting(out.width), [one.width for one in table.columns()]
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


def print_cross(found: "Crossing") -> None:
    """The final accuracies and the bytes of all pairs, and one sentence on how the two settings interact."""
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
            out.print(tables.interaction(outcome, effects), highlight=False)
