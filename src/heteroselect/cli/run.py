"""heteroselect run · resume."""

from pathlib import Path
from typing import Annotated

import typer

from heteroselect.cli import options
from heteroselect.cli.terminal import print_result, say, terminable
from heteroselect.runs.display.progress import err, note
from heteroselect.runs.folder import finished, numbered

MORE = "Give it more rounds than it was begun with; schedules then go by the new total."


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
    with terminable():
        with err.status("setting up: PyTorch"):  # it takes seconds to import
            from heteroselect.runs import calls
            from heteroselect.runs.result import Interrupted
        try:
            result = calls.run(
                preset,
                seed=seed,
                rounds=rounds,
                method=method,
                settings=options.changes_of(set_, data_dir),
                out=out_dir or (lambda name: numbered(Path("runs"), name)),
                threads=threads,
                device=device,
                progress=not quiet,
                log=log or (),
                notice=None if quiet or as_json else note,
                warn=say,
            )
        except Interrupted as stop:
            result = stop.result
    print_result(result, as_json=as_json, quiet=quiet)


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run that was killed or interrupted.")],
    method: options.OwnMethod = None,
    set_: options.OwnParts = None,
    rounds: Annotated[int | None, typer.Option(help=MORE)] = None,
    threads: options.Threads = None,
    log: options.Log = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Continue a run from its last checkpoint, to the same bits."""
    over = finished(folder)
    with terminable():
        with err.status("setting up: PyTorch"):
            from heteroselect.runs import calls
            from heteroselect.runs.result import Interrupted
        try:
            result = calls.resume(
                folder,
                rounds=rounds,
                method=method,
                settings=options.changes_of(set_),
                threads=threads,
                progress=not (quiet or over),
                log=log or (),
                warn=say,
            )
        except Interrupted as stop:
            result = stop.result
    if over and not as_json:
        note(f"the run in {folder} has finished; there is nothing to resume.")
    print_result(result, as_json=as_json, quiet=quiet)
