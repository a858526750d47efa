"""heteroselect reclock: the seconds of finished runs under another clock."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heteroselect.cli.terminal import line, out, say
from heteroselect.errors import HeteroSelectError

if TYPE_CHECKING:
    from heteroselect.runs.reclock import Reclocked

OUT = "Also write the runs that do not depend on the clock as they would have been, to OUT/METHOD/seed-N."


def reclock(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Folders of runs that have ended.")],
    charge: Annotated[str, typer.Option(help="paper, uplink or everything; see world.charge.")] = "everything",
    out_dir: Annotated[Path | None, typer.Option("--out", help=OUT)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the seconds as JSON and nothing else.")] = False,
) -> None:
    """Show the seconds of runs under another clock. Nothing is run again."""
    from heteroselect.runs import reclock as clocks

    found = [clocks.reclock(folder, charge) for folder in folders]
    for folder in folders if out_dir is not None else []:
        assert out_dir is not None
        try:
            clocks.rewrite(folder, out_dir / folder.resolve().parent.name / folder.resolve().name, charge)
        except HeteroSelectError as error:
            say(str(error))
    if as_json:
        typer.echo(json.dumps([{**asdict(one), "path": str(one.path)} for one in found], indent=2))
    else:
        _print(found, charge)


def _print(found: "Sequence[Reclocked]", charge: str) -> None:
    """Print a line for each run, and a sentence on each that would have gone another way under this clock."""
    from rich.table import Column, Table

    figures = (Column(f"{what}, {charge}", justify="right") for what in ("s to target", "s in all"))
    table = Table("run", "method", "ran with", *figures)
    other = [one for one in found if one.depends and one.ran_with != charge]
    for one in found:
        star = "*" if one in other else ""
        reached = "not reached" if one.seconds_to_target is None else f"{one.seconds_to_target:,.1f}{star}"
        table.add_row(str(one.path), one.method, one.ran_with, reached, f"{one.total_seconds:,.1f}{star}")
    out.print(table)
    for one in other:
        what = f"* {one.path}: what {' and '.join(one.depends)} decides depends on the clock"
        line(f"{what}; these are the rounds that were run under {one.ran_with}.")
