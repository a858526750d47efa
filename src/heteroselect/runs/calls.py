"""What people call in Python for a single run: `run` it, `resume` it, `read` it."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from heteroselect.core.evaluate import Function, Metric
from heteroselect.core.flat import Loss
from heteroselect.errors import FolderError
from heteroselect.loggers import Logs
from heteroselect.round.method import Method
from heteroselect.runs import api
from heteroselect.runs.display.progress import watching, where
from heteroselect.runs.ended import read_ended, read_settings
from heteroselect.runs.folder import CONFIG, SUMMARY, last_round, megabytes_before
from heteroselect.runs.own import Own
from heteroselect.runs.result import Line, Result
from heteroselect.settings import Config
from heteroselect.settings.config import load
from heteroselect.world import World


def run(
    config: str | Path | Mapping[str, Any] | Config = "mnist",
    *,
    seed: int | None = None,
    rounds: int | None = None,
    method: str | Method | None = None,
    model: Callable[[], nn.Module] | nn.Module | str | None = None,
    data: Any = None,
    test: Any = None,
    loss: Loss | None = None,
    metric: Metric | Function | None = None,
    world: World | None = None,
    settings: Mapping[str, Any] | None = None,
    out: str | Path | Callable[[str], Path] | None = None,
    threads: int | None = None,
    device: str | None = None,
    progress: bool | None = None,
    log: Logs = (),
    watch: Callable[[Line], None] | None = None,
    notice: Callable[[str], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Result:
    """Run an experiment, and return what came of it.

    What is run:
        config      a preset ("mnist"), the path of a TOML file, a mapping of settings, or a Config
        seed        of every random number of the run
        rounds      how many rounds there are
        method      its name ("oort"), "FILE.py:NAME", or a Method of your own
        settings    single changes with dotted keys: {"clients": 50, "method.select.kind": "oort"}

    Your own parts:
        model       a function that makes a torch.nn.Module, a module that is the start, or a known name ("resnet9")
        data        a list with one (x, y) per client, {"owner": (x, y)}, or one (x, y) to be dealt out
        test        (x, y), which the model is evaluated on
        loss        takes (outputs, targets); cross entropy where there is none
        metric      takes (outputs, targets); a Metric also has a name, a unit and the better direction
        world       says what links and devices clients have at each moment

    What is kept and shown:
        out         a new folder for the run, which `resume` and `read` take; or a function from its name to the place
        progress    whether to show it; by default in a notebook and on a terminal, unless there is a `watch`
        log         "tensorboard", "mlflow", "wandb", "FILE.py:NAME" or your own function, or several; needs `out`
        watch       is called with each round's line of rounds.jsonl
        notice      is told what a chosen kind brought with it
        warn        is told of what goes wrong without an end of the run, such as a logger that fails

    Where it runs:
        threads     clients that train at once; the result does not depend on it
        device      "cpu" or "cuda"

    >>> result = run("mnist", rounds=2, settings={"clients": 20, "selected": 4, "method.solver.steps": 5})
    >>> result.rounds_run, len(result.rounds)
    (2, 2)

    A run with data and a model of one's own:

    >>> import torch
    >>> clients = [(torch.randn(30, 4), torch.randint(0, 2, (30,))) for _ in range(6)]
    >>> model = lambda: torch.nn.Linear(4, 2)
    >>> result = run({"selected": 3, "rounds": 2}, model=model, data=clients, test=clients[0])
    >>> result.dataset, result.parameters
    ('own', 10)
    """
    own, changes = Own(model, data, test, loss, metric, world).settled(settings)
    changes |= {key: value for key, value in {"seed": seed, "rounds": rounds}.items() if value is not None}
    loaded = load(
        config, method=method, changes=changes, any_target=metric is not None, own_model=own.model is not None
    )
    if notice is not None:
        for text in loaded.brought:
            notice(text)
    place, measure = where(progress, watched=watch is not None), Metric.of(metric).measure
    with watching(loaded.config.last_round, place, measure=measure) as shown:
        told = api.both(shown, watch)
        return api.run_loaded(
            loaded, own, out=out, threads=threads, device=device, watch=told, warn=warn, stage=shown.stage, log=log
        )


def resume(
    folder: str | Path,
    *,
    rounds: int | None = None,
    method: str | Method | None = None,
    model: Callable[[], nn.Module] | nn.Module | None = None,
    data: Any = None,
    test: Any = None,
    loss: Loss | None = None,
    metric: Metric | Function | None = None,
    world: World | None = None,
    settings: Mapping[str, Any] | None = None,
    threads: int | None = None,
    device: str | None = None,
    progress: bool | None = None,
    log: Logs = (),
    watch: Callable[[Line], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Result:
    """Go on with a run that was killed or interrupted, from its last checkpoint, to the same bits.

        folder      of the run
        rounds      gives the run more of them; `warn` is told which schedules then go by another total than before
        model, data, test, loss, metric, world    as the run was begun with, where they are your own
        method      again where it is your own
        settings    name a part from a file again: {"method.select.kind": "mine.py:Seldom"}

    The others are as in `run`. All must be what the run was begun with, or it is refused with what differs; a log holds
    the whole of a run that goes on. A run that has come to its end is read from its folder.

    >>> import tempfile
    >>> small = {"clients": 20, "selected": 4, "method.solver.steps": 5}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     first = run("mnist", rounds=2, settings=small, out=f"{place}/mine")
    ...     again = resume(f"{place}/mine")
    >>> first.model_sha256 == again.model_sha256
    True
    """
    path, own = Path(folder), Own(model, data, test, loss, metric, world)
    place, measure = where(progress, watched=watch is not None), Metric.of(metric).measure
    last = rounds or last_round(path)
    with watching(last, place, sent=partial(megabytes_before, path), measure=measure) as shown:
        given: dict[str, Any] = {"threads": threads, "device": device, "watch": api.both(shown, watch), "log": log}
        return api.resume(
            path, own, rounds=rounds, method=method, settings=settings, warn=warn, stage=shown.stage, **given
        )


def read(folder: str | Path) -> Result:
    """A run that has ended, from its folder; nothing is run and nothing is changed.

    >>> import tempfile
    >>> small = {"clients": 20, "selected": 4, "method.solver.steps": 5}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     first = run("mnist", rounds=2, settings=small, out=f"{place}/mine")
    ...     again = read(f"{place}/mine")
    >>> again.rounds == first.rounds, again.model_sha256 == first.model_sha256
    (True, True)
    """
    path = Path(folder)
    if not (path / CONFIG).is_file():
        raise FolderError(f"read: {path} is no run folder; it needs {CONFIG}.")
    if not (path / SUMMARY).is_file():
        raise FolderError(f"read: the run in {path} has not ended; heteroselect.resume goes on with it.")
    return read_ended(path, read_settings(path, "read"), "read")
