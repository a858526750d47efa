"""A whole run: prepare, play round after round, leave a folder behind."""

import os
import platform
import shutil
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from heteroselect import methods
from heteroselect.config import flatten, load, to_toml
from heteroselect.errors import HeteroSelectError
from heteroselect.evaluate import Metric, client_accuracies, worst_tenth
from heteroselect.experiment import Experiment, prepare
from heteroselect.flat import FlatModel, Loss, Weights
from heteroselect.folder import (
    CONFIG,
    FLOWER,
    MODEL,
    RunFolder,
    finished,
    for_people,
    locked,
    read_name,
    read_rounds,
    read_summary,
)
from heteroselect.method import Method
from heteroselect.moment import Moment
from heteroselect.round import Engine, Record, play_round
from heteroselect.settings import Config, MethodSettings
from heteroselect.simulate.checkpoint import Checkpoints
from heteroselect.simulate.engine import Simulator
from heteroselect.simulate.progress import STORE, Pace, Progress, find_latest
from heteroselect.version import __version__

Line = dict[str, Any]
KINDS_OF_BYTES = ("up", "down", "scoring", "calibration")


@dataclass(frozen=True)
class Result:
    """What a run gave: `summary` and `rounds` are the contents of summary.json and rounds.jsonl."""

    config: Config
    summary: dict[str, Any]
    rounds: list[Line]
    model: dict[str, Tensor]
    folder: Path | None

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["summary"][name]
        except KeyError:
            raise AttributeError(name) from None


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


def refuse_ready(method: object, given: Mapping[str, Any]) -> None:
    """A setting of a method's parts changes nothing in a method that is ready."""
    idle = [key for key in flatten(given) if key.startswith("method.") and key != "method.name"]
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
    for key in [key for key in flat if key.startswith("method.") and key != "method.name"]:
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


class Stage(Engine, Protocol):
    """An engine for a whole run: to be opened and closed, and able to show what the model says of the test set."""

    def __enter__(self) -> "Stage": ...
    def __exit__(self, *exception: object) -> None: ...
    def outputs(self, weights: Weights) -> Tensor: ...


def play(
    experiment: Experiment,
    folder: RunFolder | None,
    *,
    threads: int,
    device: str = "cpu",
    watch: Callable[[Line], None] | None = None,
    found: tuple[Progress, Checkpoints] | None = None,
    stage: Callable[[Progress], Stage] | None = None,
) -> Result:
    """All rounds, or all that are left after those `found`, in the simulator or on another `stage`. Interrupted by
    Ctrl-C, it closes the folder after the last whole round, with a checkpoint."""
    config, path = experiment.config, folder.path if folder else None
    progress, checkpoints = found or (Progress.start(experiment, path), Checkpoints(path) if path else None)
    lines, server, pace = progress.lines, progress.server, Pace(config.simulate)
    status, weights, changed, before = "finished", server.weights, set[int](), progress.seconds
    began = time.perf_counter()

    def save() -> None:
        if folder and checkpoints and changed:
            progress.seconds = before + time.perf_counter() - began
            folder.sync()
            with for_people(folder.path):
                progress.save(checkpoints, changed)
            changed.clear()
            pace.done()

    opened = stage(progress) if stage else _simulator(experiment, threads, device, progress)
    with closing(folder) if folder else nullcontext(), opened as engine:
        try:
            for t in range(len(lines) + 1, config.last_round + 1):
                if _reached(lines, config):
                    break
                record = play_round(
                    Moment(t, config.rounds),
                    server,
                    experiment.method,
                    engine,
                    experiment.world,
                    experiment.streams,
                    selected=config.selected,
                    evaluate=t % config.evaluate_every == 0 or t == config.last_round,
                )
                line = _line(record, lines)
                if folder:
                    folder.add_round(line)
                changed.update(record.selected)  # before the line: an interruption in between must not lose them
                lines.append(line)
                weights = server.weights
                if watch:
                    watch(line)
                if pace.due(t) and t < config.last_round:
                    save()
        except KeyboardInterrupt:
            status = "interrupted"
            if server.round == len(lines):  # else it was caught while it moved on, and the last checkpoint stands
                save()
        if status == "finished" and _reached(lines, config):
            status = "stopped at target"
        summary = _summary(experiment, lines, weights) | {
            **_client_figures(experiment, engine, weights),
            "status": status,
            "wall_seconds": before + time.perf_counter() - began,
            "environment": _environment(threads, device),
        }
    flat = FlatModel(experiment.module)
    flat.load(weights)
    if folder:
        folder.finish(summary, flat.state_dict())
        if checkpoints and status != "interrupted":
            checkpoints.clear()
        shutil.rmtree(folder.path / STORE, ignore_errors=True)
    return Result(config, summary, lines, flat.state_dict(), path)


def _reached(lines: Sequence[Line], config: Config) -> bool:
    """Whether the run may end here because the target was held long enough."""
    return bool(lines and config.stop_at_target and _held(lines, config.target) >= config.stop_at_target)


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


def _simulator(experiment: Experiment, threads: int, device: str, progress: Progress) -> Stage:
    return Simulator(
        experiment.module,
        experiment.clients(),
        experiment.federation.test,
        experiment.task,
        experiment.method,
        experiment.metric,
        threads=threads,
        device=device,
        kept=progress.kept,
        streams=experiment.streams,
    )


def _line(record: Record, before: Sequence[Line]) -> Line:
    """A line of rounds.jsonl."""
    fields = dict(vars(record))
    traffic = fields.pop("bytes")
    fields["events"] = [vars(event) for event in record.events]
    elapsed = before[-1]["cumulative_seconds"] if before else 0.0
    fields["cumulative_seconds"] = elapsed + record.seconds
    return fields | {f"bytes_{kind}": amount for kind, amount in vars(traffic).items()}


def _held(lines: Sequence[Line], target: float) -> int:
    """For how many rounds, up to the last, every evaluation has been at the target."""
    since = None
    for line in lines:
        if line["accuracy"] is not None:
            since = None if line["accuracy"] < target else since or line["round"]
    return lines[-1]["round"] - since + 1 if since else 0


def _summary(experiment: Experiment, lines: Sequence[Line], weights: Weights) -> dict[str, Any]:
    config = experiment.config
    evaluated = [line for line in lines if line["accuracy"] is not None]
    reached = next((line for line in evaluated if line["accuracy"] >= config.target), None)
    until = lines[: reached["round"]] if reached else []
    return {
        "method": experiment.method.name,
        "reconstruction": experiment.method.name in methods.REGISTRY
        and methods.REGISTRY[experiment.method.name].reconstruction,
        "dataset": experiment.federation.name,
        "seed": config.seed,
        "rounds": config.rounds,
        "rounds_run": len(lines),
        "target": config.target,
        "peak_accuracy": max((line["accuracy"] for line in evaluated), default=None),
        "final_accuracy": evaluated[-1]["accuracy"] if evaluated else None,
        "rounds_to_target": reached["round"] if reached else None,
        "seconds_to_target": reached["cumulative_seconds"] if reached else None,
        "megabytes_to_target": _megabytes(until, "bytes_up_paper") if reached else None,
        "wire_megabytes_to_target": _megabytes(until, "bytes_up") if reached else None,
        "total_seconds": lines[-1]["cumulative_seconds"] if lines else 0.0,
        "total_megabytes": _megabytes(lines, "bytes_up_paper"),
        "total_wire_megabytes": _megabytes(lines, "bytes_up"),
        **{f"bytes_{kind}": sum(line[f"bytes_{kind}"] for line in lines) for kind in KINDS_OF_BYTES},
        "parameters": len(weights.vector),
        "model_sha256": weights.sha256(),
    }


def _megabytes(lines: Sequence[Line], kind: str) -> float:
    return float(sum(line[kind] for line in lines)) / 1e6


def _client_figures(experiment: Experiment, engine: Stage, weights: Weights) -> dict[str, float | None]:
    """What single clients would see: accuracy on their own label mix, its mean and its worst tenth."""
    federation, found = experiment.federation, None
    if federation.classes is not None:
        labels = [examples.y for examples in federation.clients]
        found = client_accuracies(engine.outputs(weights), federation.test.y, labels, federation.classes)
    return {
        "client_accuracy_mean": sum(found) / len(found) if found else None,
        "client_accuracy_worst_tenth": worst_tenth(found) if found else None,
    }


def _environment(threads: int, device: str) -> dict[str, Any]:
    return {
        "heteroselect": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": threads,
        "device": device,
    }
