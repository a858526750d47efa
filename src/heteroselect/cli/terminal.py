"""What a run prints on a terminal: notices and its result."""

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from heteroselect.errors import FolderError
from heteroselect.runs.display.progress import err, note

if TYPE_CHECKING:
    from heteroselect.runs.result import Result
    from heteroselect.settings import Config, PaperRow

out = Console(markup=False)  # what is printed has names of strangers in it, which are no markup


def line(text: str) -> None:
    """Print one line on standard output, as it is."""
    out.print(text, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """Print a warning on standard error."""
    err.print(f"heteroselect: {text}", style="yellow", highlight=False, soft_wrap=True)


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
def undamaged(folder: Path, who: str) -> Iterator[None]:
    """Turn what damaged files of a run raise into one sentence of the command `who`."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = str(error).partition("\n")[0]
        raise FolderError(f"{who}: the files in {folder} are damaged ({reason}).") from error


def print_result(result: "Result", *, as_json: bool, quiet: bool) -> None:
    """Print the result of a run; of one that was interrupted also how to go on, with exit code 130."""
    if as_json:
        typer.echo(json.dumps(result.summary, indent=2))
    elif not quiet:
        from heteroselect.comparison.report.tables import result_table  # it takes NumPy, for which help does not wait

        paper = paper_beside(result.summary, result.rounds, result.config.paper)
        out.print(result_table(result.summary, result.rounds, paper))
        line(f"folder: {result.folder}")
    if result.summary["status"] == "interrupted":
        words = ["heteroselect", "resume", str(result.folder), *own_files(result.config)]
        note(f"interrupted after round {len(result.rounds)}; `{' '.join(words)}` continues it.")
        raise typer.Exit(130)


def paper_beside(
    summary: dict[str, Any], rounds: list[dict[str, Any]], paper: "Sequence[PaperRow]"
) -> "list[PaperRow]":
    """What of its paper's figures may stand beside those of a run."""
    from heteroselect.comparison.report.beside import beside, with_clock

    rows = beside(paper, len(rounds), reached=summary["rounds_to_target"] is not None)
    return with_clock(rows, [summary.get("charge", "paper")])


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
