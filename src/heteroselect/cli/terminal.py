"""What people see of a run on their terminal: progress while it goes on, its result, and what went wrong."""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from heteroselect.report import tables
from heteroselect.settings import Config

if TYPE_CHECKING:
    from heteroselect.runs.loop import Result

Line = dict[str, Any]
out, err = Console(), Console(stderr=True)


def say(text: str) -> None:
    err.print(f"heteroselect: {text}", style="yellow", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def terminable() -> Iterator[None]:
    """A polite request to end (SIGTERM, or a terminal that is closed) is met like Ctrl-C: with a checkpoint and a valid
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
def watching(config: Config, *, quiet: bool) -> Iterator[Callable[[Line], None] | None]:
    """Live progress on a terminal, a line now and then elsewhere; always on standard error."""
    last = config.last_round
    if quiet:
        yield None
        return
    sent = 0.0
    accuracy: float | None = None

    def text(line: Line) -> str:
        nonlocal sent, accuracy
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
                err.print(message, highlight=False, soft_wrap=True)

        yield report
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(f"round 1/{last}", total=last)
        yield lambda line: progress.update(task, completed=line["round"], description=text(line))


def print_result(result: "Result", *, as_json: bool, quiet: bool) -> None:
    path = result.folder
    if as_json:
        typer.echo(json.dumps(result.summary, indent=2))
    elif not quiet:
        out.print(tables.result_table(result.summary, result.config.paper))
        out.print(f"folder: {path}", highlight=False, soft_wrap=True)
    if result.summary["status"] == "interrupted":
        from heteroselect import methods

        done = len(result.rounds)
        more = "" if result.summary["method"] in methods.REGISTRY else " --method FILE.py:NAME"
        err.print(f"interrupted after round {done}; `heteroselect resume {path}{more}` goes on.", soft_wrap=True)
        raise typer.Exit(130)
