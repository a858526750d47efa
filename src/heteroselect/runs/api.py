"""How a run begins and goes on, once its settings are read; what people call in Python is in `calls`."""

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from heteroselect.errors import FolderError, SettingError
from heteroselect.files import read_toml, write_whole
from heteroselect.loggers import Logs, logging, openers
from heteroselect.methods import REGISTRY
from heteroselect.round.method import Method
from heteroselect.runs.checkpoint import FOLDER as CHECKPOINTS
from heteroselect.runs.ended import read_ended
from heteroselect.runs.experiment import Experiment, prepare
from heteroselect.runs.fingerprint import Fingerprint, refuse_edited
from heteroselect.runs.folder import CONFIG, FINGERPRINT, FLOWER, RunFolder, as_user_error, finished, remove
from heteroselect.runs.guard import locked, made, refuse_changes, refuse_links, refuse_unnamed_download
from heteroselect.runs.identity import fingerprint, horizon, refuse_another
from heteroselect.runs.loop import play
from heteroselect.runs.own import Own
from heteroselect.runs.progress import STORE, find_latest
from heteroselect.runs.result import Line, Result
from heteroselect.settings import Config
from heteroselect.settings.config import Loaded, load, to_toml


def run_loaded(
    loaded: Loaded,
    own: Own | None = None,
    *,
    out: str | Path | Callable[[str], Path] | None = None,
    threads: int | None = None,
    device: str | None = None,
    watch: Callable[[Line], None] | None = None,
    warn: Callable[[str], None] | None = None,
    stage: Callable[[str], None] | None = None,
    log: Logs = (),
) -> Result:
    """Run settings that are checked already; `stage` is told what is being set up, `watch` and the loggers of `log` are
    told of each round, and `warn` of a logger that fails."""
    refuse_measured_links(loaded.config)
    stage, loggers = stage or _ignore, openers(log)
    if loggers and out is None:
        raise SettingError("log: a log goes with the run's folder; name one (out).")
    device = choose_device(device)
    threads = choose_threads(threads, device)
    if out is not None and not callable(out):
        RunFolder.refuse_taken(Path(out))
    stage("setting up: data and model")
    experiment = prepare(loaded, own, device=device, identify=out is not None)
    stage(f"round 1/{loaded.config.last_round}")
    if out is None:
        return play(experiment, None, threads=threads, device=device, watch=watch)
    name, mine = f"{Path(experiment.federation.name).stem}-{experiment.method.name}", fingerprint(experiment, device)
    place = out(name) if callable(out) else Path(out)
    with made(place):  # and locked before anything is written: two runs may have been given one place
        folder = RunFolder.create(place, to_toml(experiment.config), mine)
        try:
            with logging(loggers, place.name, place, warn or _warn) as logged:
                return play(experiment, folder, threads=threads, device=device, watch=both(logged, watch))
        except Exception:
            folder.forget_unplayed([*loggers, STORE])
            raise


def resume(
    folder: str | Path,
    own: Own | None = None,
    *,
    method: str | Method | None = None,
    settings: Mapping[str, Any] | None = None,
    rounds: int | None = None,
    threads: int | None = None,
    device: str | None = None,
    watch: Callable[[Line], None] | None = None,
    warn: Callable[[str], None] | None = None,
    stage: Callable[[str], None] | None = None,
    log: Logs = (),
) -> Result:
    """Go on with a run (see `calls.resume`); `stage` is told what is being set up."""
    path, stage, loggers, warn = Path(folder), stage or _ignore, openers(log), warn or _warn
    loaded, then = _as_begun(path, method, settings or {}, rounds)
    if finished(path):
        ended = _read(path, loaded.config)
        with logging(loggers, path.name, path, warn, ended.rounds):
            return ended
    if own is None or own.data is None:
        refuse_unnamed_download(path, loaded.config, settings or {})
    device = choose_device(device or then.versions.get("device"))
    threads = choose_threads(threads, device)
    stage("setting up: data and model")
    experiment = prepare(loaded, own, device=device, identify=True)
    refuse_another(path, then, fingerprint(experiment, device), warn)
    with locked(path):
        refuse_links(path)
        if finished(path):  # by another process, while this one made itself ready
            return _read(path, loaded.config)
        found = find_latest(experiment, path, warn, then)
        lines = found[0].lines
        if rounds is not None:
            then = _extend(path, then, len(lines), experiment, warn)
        opened = RunFolder.reopen(path, len(lines), then)
        stage(f"round {len(lines) + 1}/{loaded.config.last_round}")
        with logging(loggers, path.name, path, warn, lines) as logged:
            watch = both(logged, watch)
            return play(experiment, opened, threads=threads, device=device, watch=watch, found=found)


def _as_begun(
    path: Path, method: str | Method | None, settings: Mapping[str, Any], rounds: int | None
) -> tuple[Loaded, Fingerprint]:
    """The settings that the run in a folder was begun with, and its fingerprint; refused where they are not to be had,
    or where another method or other settings are named."""
    if not (path / CONFIG).is_file():
        raise FolderError(f"resume: {path} is no run folder; it needs {CONFIG}.")
    refuse_changes(settings)
    try:
        written = read_toml(path / CONFIG)["method"]
        name, by_file = written["name"], "source" in written
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FolderError(f"config: {path / CONFIG} is damaged ({error}).") from error
    if method is None and name not in REGISTRY and not by_file:
        raise SettingError(
            f"method: the run in {path} is of {name!r}, a method made in Python; hand it over again: "
            "heteroselect.resume(folder, method=…)."
        )
    more = {} if rounds is None else {"rounds": rounds}
    loaded = load(path / CONFIG, method=method, changes={**settings, **more}, any_target=True)
    if loaded.method.name != name:
        raise SettingError(f"resume: the run in {path} is of the method {name!r}; name that one.")
    if (path / FLOWER).exists() and not finished(path):  # its clients' memories are not in its checkpoints
        raise FolderError(f"resume: {path} is a run on Flower; `heteroselect flower resume {path}` goes on.")
    then = Fingerprint.read(path)
    if then is None:
        raise FolderError(f"resume: the run in {path} has no {FINGERPRINT}; run it again in a new folder.")
    then = then if rounds is None else _with_rounds(path, then, rounds)
    refuse_edited(path, then, loaded.config.model_dump())
    return loaded, then


def both(first: Callable[[Line], None], watch: Callable[[Line], None] | None) -> Callable[[Line], None]:
    """A function that tells both of a round; who watches it comes last, because it may stop the run."""

    def tell(line: Line) -> None:
        first(line)
        if watch is not None:
            watch(line)

    return tell


def _with_rounds(path: Path, then: Fingerprint, rounds: int) -> Fingerprint:
    """The fingerprint of a run that is to go on for more rounds than it was begun with."""
    if finished(path):
        raise FolderError(f"--rounds: the run in {path} has finished, and what it would go on from is not kept.")
    if rounds <= (before := then.settings["rounds"]):
        raise SettingError(f"--rounds: the run in {path} has {before}; give it more than that.")
    change = {"after": -1, "from": before, "to": rounds}
    return replace(then, settings={**then.settings, "rounds": rounds}, extended=(*then.extended, change))


def _extend(
    path: Path, then: Fingerprint, after: int, experiment: Experiment, warn: Callable[[str], None]
) -> Fingerprint:
    """Note in its folder that a run goes on for more rounds, and say what that does."""
    *before, change = then.extended
    then = replace(then, extended=(*before, {**change, "after": after}))
    with as_user_error(path):
        write_whole(path / CONFIG, to_toml(experiment.config).encode())  # killed here, the same command does it again
        then.write(path)
    schedules, old, new = horizon(experiment.method), change["from"], change["to"]
    text = f"from round {after + 1} on the run goes by {new} rounds instead of {old}"
    if schedules:
        text += f", which changes the schedules of {', '.join(schedules)}: it is not the run that {new} rounds give"
    else:
        text += ", which changes no schedule of its method"
    warn(text)
    return then


def _read(path: Path, config: Config) -> Result:
    """A run that has come to its end, from its folder."""
    for place in (path / CHECKPOINTS, path / STORE):
        if place.exists():  # a kill came between end and tidying up
            refuse_links(path)
            remove(place)
    return read_ended(path, config, "resume")


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=3)


def _ignore(_: str) -> None:
    """Do nothing (the default of `stage`)."""


def settings_of(
    config: str | Path | Mapping[str, Any] | Config = "mnist",
    *,
    method: str | Method | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Config:
    """Return every setting of a preset, a TOML file, a mapping or a Config, with a method and changes laid over it."""
    if isinstance(config, str | Path) and (Path(config) / CONFIG).is_file():
        raise FolderError(
            f"load: {config} is the folder of a run; heteroselect.read gives its result and its model, "
            f"heteroselect.resume goes on with it, and {Path(config) / CONFIG} has its settings."
        )
    return load(config, method=method, changes=changes).config


def refuse_measured_links(config: Config) -> None:
    if config.world.links == "measured":
        raise SettingError(
            "world.links: there is nothing to measure in a simulation; choose drawn, table or trace, or measure in "
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
        raise SettingError(f"--threads: choose 1 or more, not {number}.")
    return number


def choose_device(name: str | None) -> str:
    if name not in (None, "cpu", "cuda"):
        raise SettingError(f"--device: choose cpu or cuda, not {name!r}.")
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise SettingError("--device: cuda is not available on this machine; choose cpu.")
    return name or ("cuda" if available else "cpu")
