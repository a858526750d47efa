"""What a run prints on a terminal: progress, notices and its result."""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from heteroselect.report import tables
from heteroselect.report.beside import beside
from heteroselect.runs.folder import whole_rounds

if TYPE_CHECKING:
    from rich.progress import Progress

    from heteroselect.runs.loop import Result
    from heteroselect.settings import Config

Line = dict[str, Any]
# what is printed has names of strangers in it, which are no markup
out, err = Console(markup=False), Console(stderr=True, markup=False)


def note(text: str) -> None:
    """Print one line on standard error, as it is."""
    err.print(text, markup=False, highlight=False, soft_wrap=True)


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
def watching(last: int, *, quiet: bool, folder: Path | None = None) -> Iterator[Callable[[Line], None] | None]:
    """Show the progress of a run up to its last round on standard error: live on a terminal, about ten lines
    elsewhere. Of a run that goes on, what was sent before is in its `folder`."""
    if quiet:
        yield None
        return
    sent: float | None = None
    accuracy: float | None = None

    def text(line: Line) -> str:
        nonlocal sent, accuracy
        if sent is None:
            before = whole_rounds(folder, line["round"] - 1) if folder else []
            sent = sum(one["bytes_up"] for one in before) / 1e6
        sent += line["bytes_up"] / 1e6
        accuracy = accuracy if line["accuracy"] is None else line["accuracy"]
        shown = "" if accuracy is None else f"accuracy {accuracy:6.2%} · "
        return (
            f"round {line['round']}/{last} · {shown}{line['cumulative_seconds']:,.0f} simulated s · {sent:,.2f} MB sent"
        )

    if not err.is_terminal:
        every = max(1, last // 10)

        def report(line: Line) -> None:
            message = text(line)
            if line["round"] % every == 0 or line["round"] in (1, last):
                note(message)

        yield report
        return
    with progress_bar() as progress:
        task = progress.add_task(f"round 1/{last}", total=last)
        yield lambda line: progress.update(task, completed=line["round"], description=text(line))


def progress_bar(*, disable: bool = False) -> "Progress":
    """A bar on standard error that vanishes at the end."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn(), TextColumn("left"))
    return Progress(*columns, console=err, transient=True, disable=disable)


def print_result(result: "Result", *, as_json: bool, quiet: bool) -> None:
    """Print the result of a run; of one that was interrupted also how to go on, with exit code 130."""
    if as_json:
        typer.echo(json.dumps(result.summary, indent=2))
    elif not quiet:
        reached = result.summary["rounds_to_target"] is not None
        paper = beside(result.config.paper, len(result.rounds), reached=reached)
        out.print(tables.result_table(result.summary, paper))
        out.print(f"folder: {result.folder}", highlight=False, soft_wrap=True)
    if result.summary["status"] == "interrupted":
        words = ["heteroselect", "resume", str(result.folder), *own_files(result.config)]
        note(f"interrupted after round {len(result.rounds)}; `{' '.join(words)}` continues it.")
        raise typer.Exit(130)


def own_files(config: "Config") -> Iterator[str]:
    """The options that name a user's own files again."""
    from heteroselect.settings import own

    if "source" in config.method:
        yield "--method FILE.py:NAME"
    for role, table in config.method.items():
        if isinstance(table, dict) and own.is_path(str(table["kind"])):
            yield f"--set method.{role}.kind={table['kind']}"
