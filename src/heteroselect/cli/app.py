"""The command line, put together: one file per command. What takes PyTorch is imported by the command that needs it."""

import sys
import traceback
from types import TracebackType
from typing import Annotated, NoReturn

import typer

from heteroselect.cli import paper
from heteroselect.cli.commands import Command, Flower
from heteroselect.cli.compare import compare
from heteroselect.cli.data import data
from heteroselect.cli.lists import methods, presets, settings
from heteroselect.cli.privacy import privacy
from heteroselect.cli.reclock import reclock
from heteroselect.cli.report import report
from heteroselect.cli.run import resume, run
from heteroselect.cli.show import show
from heteroselect.cli.study import study
from heteroselect.cli.tune import tune
from heteroselect.errors import HeteroSelectError
from heteroselect.runs.display.progress import err
from heteroselect.version import __version__

app = typer.Typer(
    name="heteroselect",
    help="Federated learning: who takes part, how much may each client send, and how much does it count?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for function in (
    run, resume, show, compare, tune, study, report, reclock, privacy, data, presets, settings, methods,
):  # fmt: skip
    app.command(cls=Command)(function)
app.add_typer(paper.app, name="paper")
app.add_typer(typer.Typer(cls=Flower, help="Run on Flower, in its simulation or deployed."), name="flower")


def main() -> None:
    """Errors for people are one sentence and exit code 2."""
    try:
        app()
    except HeteroSelectError as error:
        _refuse(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if (own := _from_own(error.__traceback__)) is None:
            raise
        traceback.print_exception(error.with_traceback(own))  # what a person's own code did, and nothing of ours
        _refuse(f"{own.tb_frame.f_code.co_filename} has raised this.")


def _refuse(text: str) -> NoReturn:
    """Print one sentence and end with exit code 2."""
    err.print(f"heteroselect: {text}", style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(2)


def _from_own(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that begins in a file of the user's; None where there is no such file in it."""
    from heteroselect.settings.own import PREFIX

    while trace is not None and not trace.tb_frame.f_globals.get("__name__", "").startswith(PREFIX):
        trace = trace.tb_next
    return trace


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"heteroselect {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Federated learning: who takes part, how much may each client send, and how much does it count?"""
