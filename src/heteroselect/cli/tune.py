"""heteroselect tune: the same number of trials for every method, and a file of settings for each."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heteroselect.cli.options import Changes, DataDir, Preset, Quiet, Rounds, Threads, changes_of, numbers
from heteroselect.cli.terminal import out, say, terminable
from heteroselect.comparison.report import MARK
from heteroselect.comparison.report.write import refuse_others
from heteroselect.errors import HeteroSelectError
from heteroselect.extras import require
from heteroselect.runs.display.progress import err, note, progress_bar

if TYPE_CHECKING:
    from heteroselect.comparison.tune import Contest, Found


def tune(
    preset: Preset,
    names: Annotated[str, typer.Option("--methods", help="Names with commas, or your own, FILE.py:NAME.")],
    trials: Annotated[int, typer.Option(help="Trials per method; the first one is the method's default.")] = 12,
    seeds: Annotated[str, typer.Option(help="Seeds with commas, which the comparison does not use.")] = "101,102",
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
    from heteroselect.comparison import grid as grids
    from heteroselect.comparison import tune as tuning
    from heteroselect.comparison.trials import CRITERIA

    if by not in CRITERIA:
        raise HeteroSelectError(f"--by: allowed are {', '.join(CRITERIA)}, not {by!r}.")
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    counted = numbers("--seeds", seeds)
    path = out_dir or Path("tuned") / Path(preset).stem
    tuning.refuse_run(path)
    changes = grids.clocked(changes_of(set_, data_dir, rounds=rounds), None)
    contests = tuning.plan(preset, chosen, trials, counted, changes, path, apart=numbers("--compare-seeds", compared))
    for name in chosen:
        refuse_others(path / f"{tuning.stem(name)}.toml", "--out", tuning.MADE)
    refuse_others(path / "tune.json", "--out", tuning.MADE)
    refuse_others(path / "tune.html", "--out", MARK)
    total = sum(map(tuning.rounds, contests))
    if dry_run:
        for contest in contests:
            typer.echo(tuning.described(contest))
        typer.echo(f"{total:,} rounds at most, {total // len(contests):,} per method.")
        return
    require("report", "tune")
    words = ["heteroselect", "tune", preset, "--methods", ",".join(chosen), "--trials", str(trials)]
    words += ["--seeds", ",".join(map(str, counted)), "--by", by]
    words += [] if rounds is None else ["--rounds", str(rounds)]
    command = " ".join([*words, *(word for pair in set_ or [] for word in ("--set", pair))])
    budgets: list[float] = []
    found = run_contests(contests, by, budgets, path, command, total, threads=threads, quiet=quiet)
    from heteroselect.comparison.report import tuned  # Matplotlib takes a second to import
    from heteroselect.files import write_whole
    from heteroselect.runs.folder import as_user_error

    with as_user_error(path):
        write_whole(path / "tune.json", tuning.summary(found, by, counted, budgets, command).encode())
        tuned.write(found, by, path, command)
    if not quiet:
        print_found(found, by)
        out.print(f"folder: {path}", highlight=False, soft_wrap=True)


def run_contests(
    contests: "Sequence[Contest]",
    by: str,
    budgets: list[float],
    path: Path,
    command: str,
    total: int,
    *,
    threads: int | None,
    quiet: bool,
) -> "list[Found]":
    """Play method after method, and write the file of each as soon as it is found."""
    from heteroselect.comparison import tune as tuning
    from heteroselect.runs.folder import whole_rounds

    found, live = [], err.is_terminal and not quiet
    with terminable(), progress_bar(disable=not live) as progress:
        task = progress.add_task("", total=total)

        def player(cell: Any, until: int) -> list[dict[str, Any]]:
            name = f"{cell.method}, {cell.path.parent.name}, seed {cell.seed}"
            progress.update(task, description=name)
            before = len(whole_rounds(cell.path))
            try:
                lines = tuning.play(cell, until, threads=threads, watch=lambda _: progress.advance(task), warn=say)
            except Exception as error:  # a setting that breaks a run is a bad one
                say(f"{name}: {error}")
                return []
            if not quiet and not live:
                note(f"{name}: {'was there' if before >= until else f'round {len(lines)}'}")
            return lines

        try:
            for contest in contests:
                found.append(tuning.contend(contest, by, budgets, player))
                tuning.write(found[-1], by, command, path)
        except KeyboardInterrupt:
            note(f"interrupted; the same command continues {path}.")
            raise typer.Exit(130) from None
    return found


def print_found(found: "Sequence[Found]", by: str) -> None:
    from rich.table import Column, Table

    from heteroselect.comparison import tune as tuning

    table = Table(
        "method", Column("default", justify="right"), Column("tuned", justify="right"), "settings that differ"
    )
    for one in found:
        table.add_row(*tuning.line(one, by))
    out.print(table)
