"""What people call: `run` an experiment, `resume` one, look at its settings."""

import os
import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from heteroselect import methods
from heteroselect.errors import HeteroSelectError
from heteroselect.evaluate import Metric
from heteroselect.flat import Loss
from heteroselect.method import Method
from heteroselect.runs.checkpoint import Checkpoints
from heteroselect.runs.experiment import prepare
from heteroselect.runs.folder import (
    CONFIG,
    FLOWER,
    MODEL,
    RunFolder,
    finished,
    locked,
    read_name,
    read_rounds,
    read_summary,
)
from heteroselect.runs.loop import Line, Result, play
from heteroselect.runs.progress import STORE, find_latest
from heteroselect.settings import Config, MethodSettings
from heteroselect.settings.config import flatten, load, to_toml

NOTES = ("method.name", "method.source")  # they say which method it is, and change nothing in it


def run(
    config: str | Path | Mapping[str, Any] | Config = "mnist",
    *,
    seed: int | None = None,
    rounds: int | None = None,
    method: str | Method | Callable[[MethodSettings], Method] | None = None,
    model: Callable[[], nn.Module] | nn.Module | None = None,
    data: Any = None,
    test: Any = None,
    loss: Loss | None = None,
    metric: Metric | None = None,
    settings: Mapping[str, Any] | None = None,
    out: str | Path | Callable[[str], Path] | None = None,
    threads: int | None = None,
    device: str | None = None,
    watch: Callable[[Line], None] | None = None,
) -> Result:
    """Run an experiment: a preset, a TOML file, a mapping of settings or a Config.

    `settings` are single changes with dotted keys, as `--set` takes them. `model` is a factory of any
    torch.nn.Module, `data` arrays or a list with one data set a client (then with `test`), `loss` and
    `metric` take (outputs, targets). With `out` the run folder is written there; a function gives the place for a
    run's name, once there is nothing left to go wrong before the first round.

    >>> result = run("mnist", rounds=2, settings={"clients": 20, "selected": 4, "method.train.steps": 5})
    >>> result.summary["rounds"], len(result.rounds)
    (2, 2)
    """
    changes = dict(settings or {})
    changes |= {key: value for key, value in {"seed": seed, "rounds": rounds}.items() if value is not None}
    named = method if isinstance(method, str) else None
    checked = settings_of(config, method=named, changes=changes, own=method is not None and named is None)
    refuse_measured_links(checked)
    refuse_ready(method, {**(config if isinstance(config, Mapping) else {}), **changes})
    device = choose_device(device)
    threads = choose_threads(threads, device)
    if out is not None and not callable(out):
        RunFolder.refuse_taken(Path(out))
    experiment = prepare(
        checked,
        model=model,
        data=data,
        test=test,
        method=None if isinstance(method, str) else method,
        loss=loss,
        metric=metric,
        device=device,
    )
    if out is None:
        return play(experiment, None, threads=threads, device=device, watch=watch)
    name = f"{Path(experiment.federation.name).stem}-{experiment.method.name}"
    folder = RunFolder.create(out(name) if callable(out) else Path(out), to_toml(experiment.config))
    with locked(folder.path):
        return play(experiment, folder, threads=threads, device=device, watch=watch)


def resume(
    folder: str | Path,
    *,
    model: Callable[[], nn.Module] | nn.Module | None = None,
    data: Any = None,
    test: Any = None,
    method: Method | Callable[[MethodSettings], Method] | None = None,
    loss: Loss | None = None,
    metric: Metric | None = None,
    threads: int | None = None,
    device: str | None = None,
    watch: Callable[[Line], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Result:
    """Go on with a run that was killed or interrupted, from its last checkpoint, to the same bits.

    A model, data, loss, metric or method of one's own has to be handed over again. A run that has come to its end
    is read from its folder.
    """
    path = Path(folder)
    if not (path / CONFIG).is_file():
        raise HeteroSelectError(f"resume: {path} is no run folder; it needs {CONFIG}.")
    config = load(path / CONFIG, methods=methods.SETTINGS, own=method is not None)
    if finished(path):
        Checkpoints(path).clear()  # where a kill came between the end and the tidying up
        shutil.rmtree(path / STORE, ignore_errors=True)
        return Result(config, read_summary(path), read_rounds(path), load_file(path / MODEL), path)
    if (path / FLOWER).exists():  # its clients' memories are not in its checkpoints
        raise HeteroSelectError(f"resume: {path} is a run on Flower; `heteroselect flower resume {path}` goes on.")
    device = choose_device(device)
    threads = choose_threads(threads, device)
    experiment = prepare(
        config, model=model, data=data, test=test, method=method, loss=loss, metric=metric, device=device
    )
    if experiment.method.name != read_name(path):
        raise HeteroSelectError(f"resume: the run in {path} is of the method {read_name(path)!r}; allowed is that one.")
    with locked(path):
        found = find_latest(experiment, path, warn or _warn)
        opened = RunFolder.reopen(path, len(found[0].lines))
        return play(experiment, opened, threads=threads, device=device, watch=watch, found=found)


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=3)


def refuse_ready(method: object, given: Mapping[str, Any]) -> None:
    """A setting of a method's parts changes nothing in a method that is ready."""
    idle = [key for key in flatten(given) if key.startswith("method.") and key not in NOTES]
    if isinstance(method, Method) and idle:
        raise HeteroSelectError(
            f"{idle[0]}: it would have no effect beside a ready method; allowed is a function of the method's "
            "settings, as in def mine(settings): …"
        )


def settings_of(
    config: str | Path | Mapping[str, Any] | Config = "mnist",
    *,
    method: str | None = None,
    changes: Mapping[str, Any] | None = None,
    own: bool = False,
) -> Config:
    """Every setting of a preset, a TOML file, a mapping or a Config, with a method and changes laid over it."""
    source = config.model_dump(exclude_none=True) if isinstance(config, Config) else config
    loaded = load(source, methods=methods.SETTINGS, method=method, changes=changes, own=own)
    flat = flatten(changes or {})
    for key in [key for key in flat if key.startswith("method.") and key not in NOTES]:
        others = {other: value for other, value in flat.items() if other != key}
        try:
            plain = load(source, methods=methods.SETTINGS, method=method, changes=others, own=own)
        except HeteroSelectError:  # the others make no sense without it
            continue
        _refuse_idle(key, plain.method, loaded.method)
    return loaded


def _refuse_idle(key: str, without: MethodSettings, with_it: MethodSettings) -> None:
    """A setting that somebody changes should change something."""
    if without != with_it and methods.build(without) == methods.build(with_it):
        raise HeteroSelectError(
            f"{key}: it has no effect on {with_it.name} with these settings; `heteroselect methods {with_it.name}` "
            "shows the parts it has."
        )


def refuse_measured_links(config: Config) -> None:
    if config.world.links == "measured":
        raise HeteroSelectError(
            "world.links: there is nothing to measure in a simulation; allowed is drawn, and measured in "
            "`heteroselect flower deploy`."
        )


def choose_threads(number: int | None, device: str = "cpu") -> int:
    """By default one for each core this process may use; a GPU is kept busy by one."""
    if number is None and device != "cpu":
        return 1
    if number is None:
        affinity = getattr(os, "sched_getaffinity", None)  # not on every system
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    if number < 1:
        raise HeteroSelectError(f"--threads: allowed is 1 or more, not {number}.")
    return number


def choose_device(name: str | None) -> str:
    if name not in (None, "cpu", "cuda"):
        raise HeteroSelectError(f"--device: allowed are cpu and cuda, not {name!r}.")
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise HeteroSelectError("--device: cuda is not available on this machine; allowed is cpu.")
    return name or ("cuda" if available else "cpu")
