"""The command line, one function a command. What takes PyTorch is imported by the command that needs it."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from heteroselect.cli.flower import app as flower
from heteroselect.cli.report import compare, report
from heteroselect.cli.terminal import err, out, print_result, say, terminable, watching
from heteroselect.errors import HeteroSelectError
from heteroselect.report import tables
from heteroselect.runs.folder import (
    CONFIG,
    ROUNDS,
    SUMMARY,
    finished,
    for_people,
    numbered,
    read_rounds,
    read_summary,
    whole_rounds,
    write_whole,
)
from heteroselect.settings import Config, describe
from heteroselect.settings.config import load, parse_changes, presets
from heteroselect.version import __version__

app = typer.Typer(
    name="heteroselect",
    help="Federated learning: who should speak, how much, and how loudly?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main() -> None:
    """Errors for people are one sentence and exit code 2."""
    try:
        app()
    except HeteroSelectError as error:
        err.print(f"heteroselect: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


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
    """Federated learning: who should speak, how much, and how loudly?"""


@app.command()
def run(
    preset: Annotated[str, typer.Argument(help="A preset, or the path of a TOML file.")] = "mnist",
    method: Annotated[
        str | None, typer.Option(help="A method's name, see `heteroselect methods`; or your own, FILE.py:NAME.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of every random number.")] = None,
    rounds: Annotated[int | None, typer.Option(help="The horizon T of all schedules.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one setting.")] = None,
    threads: Annotated[int | None, typer.Option(help="Clients at a time; the result does not depend on it.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where the data sets lie.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; by default cuda where there is one.")] = None,
    out_dir: Annotated[Path | None, typer.Option("--out", help="A new folder; by default one under runs/.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json and nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no table.")] = False,
) -> None:
    """Run an experiment and write its folder."""
    from heteroselect.methods import own
    from heteroselect.runs.api import run as run_experiment
    from heteroselect.runs.api import settings_of

    changes = parse_changes(set_ or [])
    changes |= {key: value for key, value in {"seed": seed, "rounds": rounds}.items() if value is not None}
    if data_dir is not None:
        changes["data.dir"] = str(data_dir.absolute())
    mine = own.load(method) if method is not None and own.is_path(method) else None
    if method is not None and mine is not None:
        changes["method.source"] = own.digest(method)
    config = settings_of(preset, method=None if mine else method, changes=changes, own=mine is not None)
    place = out_dir or (lambda name: numbered(Path("runs"), name))
    with terminable(), watching(config, quiet=quiet) as watch:
        result = run_experiment(
            preset, method=mine or method, settings=changes, out=place, threads=threads, device=device, watch=watch
        )
    print_result(result, as_json=as_json, quiet=quiet)


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run that was killed or interrupted.")],
    method: Annotated[str | None, typer.Option(help="Your own method, FILE.py:NAME, where the run has one.")] = None,
    threads: Annotated[int | None, typer.Option(help="Clients at a time; the result does not depend on it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json and nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no table.")] = False,
) -> None:
    """Go on with a run from its last checkpoint, to the same bits."""
    from heteroselect import methods
    from heteroselect.methods import own
    from heteroselect.runs.api import resume as resume_run

    over = finished(folder)
    mine = own.load(method) if method is not None else None
    there = (folder / CONFIG).is_file()
    config = load(folder / CONFIG, methods=methods.SETTINGS, own=mine is not None) if there else Config()
    if method is not None and not over:
        own.refuse_changed(method, config.method.source)
    with terminable(), watching(config, quiet=quiet or over) as watch:
        result = resume_run(folder, method=mine, threads=threads, watch=watch, warn=say)
    if over and not as_json:
        err.print(f"the run in {folder} has finished; there is nothing to resume.", highlight=False, soft_wrap=True)
    print_result(result, as_json=as_json, quiet=quiet)


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")],
    figure: Annotated[Path | None, typer.Option(help="Draw the run as a .png, .svg or .pdf file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json and nothing else.")] = False,
) -> None:
    """Show a run: its figures beside the paper's, and its curve."""
    from heteroselect import methods

    if not (folder / CONFIG).is_file() or not (folder / ROUNDS).is_file():
        raise HeteroSelectError(f"show: {folder} is no run folder; it needs {CONFIG} and {ROUNDS}.")
    if not (folder / SUMMARY).is_file():
        raise HeteroSelectError(f"show: the run in {folder} has not finished; it has no {SUMMARY} yet.")
    try:
        summary, lines = read_summary(folder), read_rounds(folder)
        config = load(folder / CONFIG, methods=methods.SETTINGS, own=True)
        if as_json:
            typer.echo(json.dumps(summary, indent=2))
        else:
            out.print(tables.result_table(summary, config.paper))
            curve = [line["accuracy"] for line in lines if line["accuracy"] is not None]
            out.print(f"accuracy {tables.sparkline(curve)}", highlight=False)
    except (ValueError, KeyError, TypeError) as error:
        raise HeteroSelectError(f"show: the files in {folder} are damaged ({error}).") from error
    if figure is not None:
        from heteroselect.report.figure import draw_run  # Matplotlib takes a second to import

        draw_run(summary, lines, config.paper, figure)
        err.print(f"picture: {figure}", highlight=False, soft_wrap=True)


app.command()(compare)
app.command()(report)
app.add_typer(flower, name="flower")


@app.command()
def replay(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", help="Per-round logs of the paper's authors.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the deviations as JSON.")] = False,
) -> None:
    """Recompute the authors' logs; exit code 1 where a number deviates."""
    from heteroselect.paper.replay import replay as replay_log

    replays = [replay_log(path) for path in logs]
    if as_json:
        typer.echo(json.dumps([{**vars(r), "path": str(r.path), "passed": r.passed} for r in replays], indent=2))
    else:
        out.print("largest relative deviation from the log")
        for one in replays:
            out.print(one.text(), highlight=False, soft_wrap=True)
    if not all(r.passed for r in replays):
        raise typer.Exit(1)


@app.command("compare-log")
def compare_log(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")],
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", help="The authors' logs of the same experiment.")],
    rounds: Annotated[str, typer.Option(help="The rounds to compare at, as in 5,11,15.")] = "",
    out_dir: Annotated[Path | None, typer.Option("--out", help="A folder for compare-log.md and .svg.")] = None,
) -> None:
    """Put a run beside the authors' log: accuracy, loss and score parts; exit code 1 where they part."""
    from heteroselect.paper import compare_log as against

    if not (folder / ROUNDS).is_file():
        raise HeteroSelectError(f"compare-log: {folder} is no run folder; it needs {ROUNDS}.")
    try:
        points = [int(word) for word in rounds.split(",") if word.strip()]
    except ValueError:
        raise HeteroSelectError(f"--rounds: allowed are whole numbers with commas, not {rounds!r}.") from None
    mine, theirs = against.ours(whole_rounds(folder)), {path.stem: against.theirs(path) for path in logs}
    tables_ = {name: against.compare(mine, log, points) for name, log in theirs.items()}
    text = "\n".join(f"{name}\n\n{against.markdown(rows)}" for name, rows in tables_.items())
    typer.echo(text)
    if out_dir is not None:
        command = f"heteroselect compare-log {folder.name} {' '.join(path.name for path in logs)}"
        command += f" --rounds {rounds}" if rounds else ""
        with for_people(out_dir):
            out_dir.mkdir(parents=True, exist_ok=True)
            write_whole(out_dir / "compare-log.md", f"Made by `{command}`.\n\n{text}".encode())
        against.draw(mine, theirs, out_dir / "compare-log.svg")
    if not all(row.within for rows in tables_.values() for row in rows):
        raise typer.Exit(1)


@app.command()
def data(
    name: Annotated[str, typer.Argument(help="cifar10, cifar100 or tinyimagenet (mnist is included).")],
    data_dir: Annotated[Path | None, typer.Option(help="Where to put it.")] = None,
    url: Annotated[str | None, typer.Option(help="A mirror to take the publisher's file from.")] = None,
) -> None:
    """Download a data set from its publisher, checksum verified."""
    from heteroselect.data import download, sources

    folder = data_dir or sources.default_folder()
    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(name, total=None)
        path = download.fetch(
            name, folder, url=url, progress=lambda done, total: progress.update(task, completed=done, total=total)
        )
    typer.echo(f"{name}: {path}" if name != "mnist" else f"mnist is part of the package: {path}")


@app.command("presets")
def list_presets() -> None:
    """List the ready experiments."""
    from heteroselect.runs.api import settings_of

    out.print(tables.presets_table({name: settings_of(name) for name in presets()}))


@app.command()
def settings(
    prefix: Annotated[str, typer.Argument(help="Only those whose name starts so, as in method.train.")] = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print them as a Markdown page.")] = False,
) -> None:
    """List every setting: its default, what is allowed, and what it means."""
    found = [setting for setting in describe() if setting.key.startswith(prefix)]
    if not found:
        groups = sorted({setting.key.rpartition(".")[0] for setting in describe()} - {""})
        raise HeteroSelectError(f"settings: none starts with {prefix!r}; the groups are {', '.join(groups)}.")
    typer.echo(tables.settings_page(found) if markdown else tables.settings_text(found))


@app.command("methods")
def list_methods(
    name: Annotated[str | None, typer.Argument(help="One method: its parts and settings.")] = None,
) -> None:
    """List the methods, or show one: NAME, or your own as FILE.py:NAME."""
    from heteroselect import methods
    from heteroselect.methods import own
    from heteroselect.runs.api import settings_of
    from heteroselect.runs.experiment import method_of

    if name is None:
        table = Table()
        for column in ("method", "what it is", "paper"):
            table.add_column(column)
        for known, entry in methods.REGISTRY.items():
            table.add_row(known + ("*" if entry.reconstruction else ""), entry.summary, entry.paper)
        out.print(table)
        out.print("* the rule is a reconstruction from the paper's abstract", highlight=False)
        return
    if name in methods.REGISTRY:
        entry, method = methods.REGISTRY[name], methods.get(name)
        about = entry.paper + (" (the rule is a reconstruction)" if entry.reconstruction else "")
        changes, text = entry.settings, f"{name}: {entry.summary}\n{about}\n"
    else:
        method, changes = method_of(settings_of(), own.load(name))[1], {}
        text = f"{method.name}: your own, from {name}\n"
    out.print(text, highlight=False)
    for role, part in vars(method).items():
        if role != "name":
            out.print(f"  {role:15s} {part}", highlight=False, soft_wrap=True)
    needs = sorted(method.needs | method.score.needs)
    out.print(f"  goes by         {', '.join(needs) or 'nothing that clients would have to say'}", highlight=False)
    for key, value in changes.items():
        out.print(f"  sets {key} = {value!r}", highlight=False)
