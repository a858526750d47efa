"""heteroselect run · resume."""

from pathlib import Path
from typing import Annotated, Any

import typer

from heteroselect.cli import options
from heteroselect.cli.terminal import print_result, say, terminable, watching
from heteroselect.runs.display.progress import note
from heteroselect.runs.folder import finished, last_round, numbered


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
    log: options.Log = None,
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
    place = out_dir or (lambda name: numbered(Path("runs"), name))
    with terminable(), watching(loaded.config.last_round, quiet=quiet) as watch:
        watch.stage("setting up: PyTorch")  # it takes seconds to import
        from heteroselect.runs.api import run_loaded
        from heteroselect.runs.result import Interrupted

        given: dict[str, Any] = {"threads": threads, "device": device, "log": log or ()}
        try:
            result = run_loaded(loaded, out=place, watch=watch, warn=say, stage=watch.stage, **given)
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
    log: options.Log = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Continue a run from its last checkpoint, to the same bits."""
    over, changes = finished(folder), options.changes_of(set_)
    with terminable(), watching(rounds or last_round(folder), quiet=quiet or over, folder=folder) as watch:
        watch.stage("setting up: PyTorch")
        from heteroselect.runs.api import resume as resume_run
        from heteroselect.runs.result import Interrupted

        given: dict[str, Any] = {
            "method": method,
            "settings": changes,
            "rounds": rounds,
            "threads": threads,
            "log": log or (),
        }
        try:
            result = resume_run(folder, watch=watch, stage=watch.stage, warn=say, **given)
        except Interrupted as stop:
            result = stop.result
    if over and not as_json:
        note(f"the run in {folder} has finished; there is nothing to resume.")
    print_result(result, as_json=as_json, quiet=quiet)
