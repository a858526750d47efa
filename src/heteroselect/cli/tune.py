"""heteroselect tune: the same number of trials for every method, and a file of settings for each."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heteroselect.cli.compare import going_on
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
from heteroselect.cli.terminal import out, say

if TYPE_CHECKING:
    from heteroselect.comparison.tune import Tuned


def tune(
    preset: Preset,
    names: Annotated[str, typer.Option("--methods", help="Names with commas, or your own, FILE.py:NAME.")],
    trials: Annotated[int, typer.Option(help="Trials per method; the first one is the method's default.")] = 12,
    seeds: Seeds = "101,102",
    by: Annotated[
        str,
        typer.Option(
            help="What is best: accuracy at-bytes or at-seconds, those of the first method's default; the final "
            "accuracy; or the time-to-target."
        ),
    ] = "at-bytes",
    compared: Annotated[
        str, typer.Option("--compare-seeds", help="The seeds of the comparison, which are kept apart.")
    ] = "42,43,44,45,46",
    rounds: Rounds = None,
    set_: Changes = None,
    threads: Threads = None,
    data_dir: DataDir = None,
    out_dir: Annotated[
        Path | None,
        typer.Option("--out", help="A folder, by default tuned/PRESET; unfinished tuning in it is continued."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the ranges, and how much would be run.")] = False,
    quiet: Quiet = False,
) -> None:
    """Tune methods with equal effort, on validation examples; `compare --tuned DIR` takes what is found."""
    from heteroselect.comparison import calls
    from heteroselect.comparison import tune as tuning

    path = out_dir or Path("tuned") / Path(preset).stem
    methods, counted, apart = listed(names), numbers("--seeds", seeds), numbers("--compare-seeds", compared)
    if dry_run:
        changes = changes_of(set_, data_dir, rounds=rounds)
        contests = tuning.plan(preset, methods, trials, counted, changes, path, apart, by)
        total = sum(contest.rounds for contest in contests)
        for contest in contests:
            typer.echo(contest.described)
        typer.echo(f"{total:,} rounds at most, {total // len(contests):,} per method.")
        return
    with going_on(path):
        found: Tuned = inspect.unwrap(calls.tune)(
            preset,
            methods,
            trials=trials,
            seeds=counted,
            by=by,
            compare_seeds=apart,
            rounds=rounds,
            settings=changes_of(set_, data_dir),
            out=path,
            threads=threads,
            progress=not quiet,
            warn=say,
        )
    if not quiet:
        print_found(found)
        out.print(f"folder: {path}", highlight=False, soft_wrap=True)


def print_found(found: "Tuned") -> None:
    """What each method gained over its default."""
    from rich.table import Column, Table

    table = Table(
        "method", Column("default", justify="right"), Column("tuned", justify="right"), "settings that differ"
    )
    for cells in found.cells():
        table.add_row(*cells)
    out.print(table)
