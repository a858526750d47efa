"""What a run prints on a terminal: progress, notices and its result."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from heteroselect.runs.display import progress
from heteroselect.runs.display.progress import Watch, err, note
from heteroselect.runs.folder import whole_rounds

if TYPE_CHECKING:
    from heteroselect.runs.result import Result
    from heteroselect.settings import Config

out = Console(markup=False)  # what is printed has names of strangers in it, which are no markup


def say(text: str) -> None:
    """Print a warning on standard error."""
    err.print(f"heteroselect: {text}", style="yellow", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def terminable() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP (a terminal that is closed) like Ctrl-C: the run ends with a checkpoint and a valid
    folder."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    kinds = [signal.SIGTERM, signal.SIGHUP]
    # whoever started us with nohup wants us to stay
    before = {kind: signal.signal(kind, stop) for kind in kinds if signal.getsignal(kind) != signal.SIG_IGN}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


@contextmanager
def watching(last: int, *, quiet: bool, folder: Path | None = None) -> Iterator[Watch]:
    """Show the progress of a run up to its last round on standard error: live on a terminal, about ten lines
    elsewhere. Of a run that goes on, what was sent before is in its `folder`."""

    def sent(number: int) -> float:
        before = whole_rounds(folder, number - 1) if folder else []
        return float(sum(one["bytes_up"] for one in before)) / 1e6

    with progress.watching(last, progress.where(not quiet), sent=sent) as watch:
        yield watch


def print_result(result: "Result", *, as_json: bool, quiet: bool) -> None:
    """Print the result of a run; of one that was interrupted also how to go on, with exit code 130."""
    if as_json:
        typer.echo(json.dumps(result.summary, indent=2))
    elif not quiet:
        from heteroselect.comparison.report import tables  # these take NumPy, for which help does not wait
        from heteroselect.comparison.report.beside import beside, with_clock

        reached = result.summary["rounds_to_target"] is not None
        paper = beside(result.config.paper, len(result.rounds), reached=reached)
        paper = with_clock(paper, [result.config.world.charge])
        out.print(tables.result_table(result.summary, result.rounds, paper))
        out.print(f"folder: {result.folder}", highlight=False, soft_wrap=True)
    if result.summary["status"] == "interrupted":
        words = ["heteroselect", "resume", str(result.folder), *own_files(result.config)]
        note(f"interrupted after round {len(result.rounds)}; `{' '.join(words)}` continues it.")
        raise typer.Exit(130)


def own_files(config: "Config") -> Iterator[str]:
    """The options that name again what a folder is not believed in: code, a download, and another place."""
    from heteroselect.settings import own

    if "source" in config.method:
        yield "--method FILE.py:NAME"
    for role, table in config.method.items():
        if isinstance(table, dict) and own.is_path(str(table["kind"])):
            yield f"--set method.{role}.kind={table['kind']}"
    if config.data.name.startswith("hf:"):
        yield f"--set data.name={config.data.name}"
