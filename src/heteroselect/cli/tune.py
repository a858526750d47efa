"""heteroselect tune: the same number of trials for every method, and a file of settings for each."""

from pathlib import Path
from typing import Annotated

import typer

from heteroselect.cli import options
from heteroselect.cli.compare import going_on
from heteroselect.cli.terminal import line, out, say

BY = (
    "What is best: accuracy at-bytes or at-seconds, those of the first method's default; the final accuracy; or the "
    "time-to-target."
)
OUT = "A folder, by default tuned/PRESET; unfinished tuning in it is continued."


def tune(
    preset: options.Preset,
    names: options.Methods,
    trials: Annotated[int, typer.Option(help="Trials per method; the first one is the method's default.")] = 12,
    seeds: options.Seeds = "101,102",
    by: Annotated[str, typer.Option(help=BY)] = "at-bytes",
    compare_seeds: Annotated[
        str, typer.Option(help="The seeds of the comparison, which are kept apart.")
    ] = "42,43,44,45,46",
    rounds: options.Rounds = None,
    set_: options.Changes = None,
    threads: options.Threads = None,
    data_dir: options.DataDir = None,
    out_dir: Annotated[Path | None, typer.Option("--out", help=OUT)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the ranges, and how much would be run.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Tune methods with equal effort, on validation examples. `compare --tuned DIR` takes what is found."""
    from rich.table import Column, Table

    from heteroselect.comparison import calls
    from heteroselect.comparison import tune as tuning

    path, methods = out_dir or Path("tuned") / Path(preset).stem, options.listed(names)
    counted, apart = options.numbers("--seeds", seeds), options.numbers("--compare-seeds", compare_seeds)
    if dry_run:
        changes = options.changes_of(set_, data_dir, rounds=rounds)
        contests = tuning.plan(preset, methods, trials, counted, changes, path, apart, by)
        total = sum(contest.rounds for contest in contests)
        for contest in contests:
            typer.echo(contest.described)
        typer.echo(f"{total:,} rounds at most, {total // len(contests):,} per method.")
        return
    with going_on(path):
        found = calls.tune(
            preset,
            methods,
            trials=trials,
            seeds=counted,
            by=by,
            compare_seeds=apart,
            rounds=rounds,
            settings=options.changes_of(set_, data_dir),
            out=path,
            threads=threads,
            progress=not quiet,
            warn=say,
        )
    if not quiet:
        gains = (Column(name, justify="right") for name in ("default", "tuned"))
        table = Table("method", *gains, "settings that differ")
        for cells in found.cells():
            table.add_row(*cells)
        out.print(table)
        line(f"folder: {path}")
