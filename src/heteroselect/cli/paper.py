"""heteroselect paper replay · compare-log: the logs of the paper's authors, recomputed and beside a run."""

import json
from pathlib import Path
from typing import Annotated

import typer

from heteroselect.cli.commands import Command
from heteroselect.cli.options import Folder, Logs, numbers
from heteroselect.cli.terminal import out
from heteroselect.errors import HeteroSelectError
from heteroselect.extras import require
from heteroselect.files import write_whole
from heteroselect.runs.folder import ROUNDS, as_user_error, whole_rounds

app = typer.Typer(help="Recompute the authors' logs, or compare a run with one.", no_args_is_help=True)


@app.command(cls=Command)
def replay(
    logs: Logs, as_json: Annotated[bool, typer.Option("--json", help="Print the deviations as JSON.")] = False
) -> None:
    """Recompute the authors' logs. The exit code is 1 where a number deviates."""
    from heteroselect.paper.replay import replay as replay_log

    replays = [replay_log(path) for path in logs]
    if as_json:
        typer.echo(
            json.dumps([{**vars(one), "path": str(one.path), "passed": one.passed} for one in replays], indent=2)
        )
    else:
        out.print("largest relative deviation from the log")
        for one in replays:
            out.print(one.text(), markup=True, highlight=False, soft_wrap=True)
    if not all(one.passed for one in replays):
        raise typer.Exit(1)


@app.command(cls=Command)
def compare_log(
    folder: Folder,
    logs: Logs,
    rounds: Annotated[str, typer.Option(help="The rounds to compare at, as in 5,11,15.")] = "",
    out_dir: Annotated[Path | None, typer.Option("--out", help="A folder for compare-log.md and .svg.")] = None,
) -> None:
    """Compare a run with the authors' log of the same experiment. The exit code is 1 where accuracy, loss or the parts
    of the score differ by more than is allowed."""
    if out_dir is not None:
        require("report", "--out")
    from heteroselect.paper import compare_log as against

    if not (folder / ROUNDS).is_file():
        raise HeteroSelectError(f"compare-log: {folder} is no run folder; it needs {ROUNDS}.")
    points = numbers("--rounds", rounds)
    mine, theirs = against.ours(whole_rounds(folder)), {path.stem: against.theirs(path) for path in logs}
    compared = {name: against.compare(mine, log, points) for name, log in theirs.items()}
    text = "\n".join(f"{name}\n\n{against.markdown(rows)}" for name, rows in compared.items())
    typer.echo(text)
    if out_dir is not None:
        command = f"heteroselect paper compare-log {folder.name} {' '.join(path.name for path in logs)}"
        command += f" --rounds {rounds}" if rounds else ""
        with as_user_error(out_dir):
            out_dir.mkdir(parents=True, exist_ok=True)
            write_whole(out_dir / "compare-log.md", f"Made by `{command}`.\n\n{text}".encode())
        against.draw(mine, theirs, out_dir / "compare-log.svg")
    if not all(row.within for rows in compared.values() for row in rows):
        raise typer.Exit(1)
