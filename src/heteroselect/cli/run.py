"""heteroselect run · resume."""

from pathlib import Path
from typing import Annotated

import typer

from heteroselect.cli import options
from heteroselect.cli.terminal import note, print_result, say, terminable, watching
from heteroselect.files import read_toml
from heteroselect.runs.folder import CONFIG, finished, numbered


def run(
    preset: options.Preset = "mnist",
    method: options.Named = None,
    seed: options.Seed = None,
    rounds: options.Rounds = None,
    set_: options.Changes = None,
    threads: options.Threads = None,
    data_dir: options.DataDir = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; by default cuda where there is one.")] = None,
    out_dir: options.Out = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run an experiment and write its folder.

    Every role of a method can be chosen by name, as in --set method.select.kind=oort --set method.compress.kind=stc,
    and a part of your own as method.select.kind=FILE.py:NAME.
    """
    from heteroselect.settings.config import load

    loaded = load(preset, method=method, changes=options.changes_of(set_, data_dir, seed=seed, rounds=rounds))
    for text in loaded.brought if not (quiet or as_json) else ():
        note(text)
    from heteroselect.runs.api import run_loaded  # PyTorch takes seconds to import
    from heteroselect.runs.loop import Interrupted

    place = out_dir or (lambda name: numbered(Path("runs"), name))
    try:
        with terminable(), watching(loaded.config.last_round, quiet=quiet) as watch:
            result = run_loaded(loaded, out=place, threads=threads, device=device, watch=watch)
    except Interrupted as stop:
        result = stop.result
    print_result(result, as_json=as_json, quiet=quiet)


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run that was killed or interrupted.")],
    method: options.OwnMethod = None,
    set_: options.OwnParts = None,
    rounds: Annotated[
        int | None, typer.Option(help="Give it more rounds than it was begun with; schedules then go by the new total.")
    ] = None,
    threads: options.Threads = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Continue a run from its last checkpoint, to the same bits."""
    from heteroselect.runs.api import resume as resume_run
    from heteroselect.runs.loop import Interrupted

    over, changes = finished(folder), options.changes_of(set_)
    try:
        with terminable(), watching(rounds or _last_round(folder), quiet=quiet or over, folder=folder) as watch:
            result = resume_run(
                folder, method=method, settings=changes, rounds=rounds, threads=threads, watch=watch, warn=say
            )
    except Interrupted as stop:
        result = stop.result
    if over and not as_json:
        note(f"the run in {folder} has finished; there is nothing to resume.")
    print_result(result, as_json=as_json, quiet=quiet)


def _last_round(folder: Path) -> int:
    """The last round of a run, from its folder; 0 where that cannot be read, which `resume` refuses with the reason."""
    try:
        settings = read_toml(folder / CONFIG)
        return int(min(settings["rounds"], settings["stop_after"] or settings["rounds"]))
    except (OSError, ValueError, KeyError, TypeError):
        return 0
