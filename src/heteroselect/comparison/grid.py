"""Many methods under one clock: a grid of methods and seeds.

All runs of a seed share the partition, the links and the devices, because these come from the seed and the experiment
and from nothing else; what a method sets of the data is left out. A grid can be interrupted and continued:
finished runs are not run again, and a run that was interrupted is resumed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from heteroselect.data.hub import HUB
from heteroselect.errors import HeteroSelectError
from heteroselect.round.method import Method
from heteroselect.runs.api import choose_device, resume, run_loaded
from heteroselect.runs.experiment import Experiment, prepare
from heteroselect.runs.fingerprint import deciding, listed, unequal
from heteroselect.runs.folder import CONFIG, FINGERPRINT, finished
from heteroselect.runs.identity import fingerprint, planned, unlike
from heteroselect.runs.own import Own
from heteroselect.runs.reclock import rewrite
from heteroselect.runs.result import Interrupted, Line
from heteroselect.settings import Config, PaperRow, own
from heteroselect.settings.config import Loaded, load, read_config
from heteroselect.settings.method import completed


@dataclass(frozen=True)
class Cell:
    """One run of the grid: its settings and its method, the folder it is or will be in, the method where it is
    the user's own (FILE.py:NAME, or itself), what its row changes of which preset, and the figures it stands beside."""

    method: str
    seed: int
    loaded: Loaded
    path: Path
    file: str | Method | None = None
    preset: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    beside: tuple[PaperRow, ...] = ()
    like: Path | None = None
    """the same run under another clock, where that makes no other difference"""
    own: Own = field(default_factory=Own)
    """model, data and the like, where the user handed them over"""

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def done(self) -> bool:
        return finished(self.path)


def grid(
    preset: str | Path | Mapping[str, Any],
    names: Sequence[str | Method],
    seeds: Sequence[int],
    changes: Mapping[str, Any],
    out: Path,
    tuned: Mapping[str, Mapping[str, Any]] | None = None,
    handed: Own | None = None,
) -> list[Cell]:
    """All runs, seed by seed, so that a grid that is interrupted has compared everybody on the seeds it has. A name may
    be that of a file, FILE.py:NAME, or stand for a method itself; `tuned` has settings of single methods, by these
    names; `handed` is what the user handed over."""
    known_names = [name.name if isinstance(name, Method) else name for name in names]
    if not names or len(set(known_names)) < len(names):
        raise HeteroSelectError("--methods: allowed are one or more names, each once, as in --methods fedavg,oort.")
    if not seeds or len(set(seeds)) < len(seeds):
        raise HeteroSelectError("--seeds: allowed are one or more whole numbers, each once.")
    if (out / CONFIG).is_file():
        raise HeteroSelectError(f"--out: {out} holds a run; allowed is a new folder, or one of an earlier comparison.")
    cells = []
    for seed in seeds:
        for name, given in zip(known_names, names, strict=True):
            mine = {**(tuned or {}).get(name, {}), **changes, "seed": seed}
            free = handed is not None and handed.metric is not None
            loaded = load(preset, method=given, changes=mine, compared=True, any_target=free)
            called = loaded.method.name
            file = given if isinstance(given, Method) or own.is_path(given) else None
            cells.append(Cell(called, seed, loaded, out / called / f"seed-{seed}", file, own=handed or Own()))
    if len({cell.method for cell in cells}) < len(names):
        raise HeteroSelectError("--methods: two of them have one name; allowed is another name for each of your own.")
    known: dict[Any, str | None] = {}
    for cell in cells:
        refuse_another(cell, known)
    return cells


def refuse_another(cell: Cell, known: dict[Any, str | None] | None = None) -> None:
    """A folder of the grid may hold this very run, and no other; `known` keeps digests of data sets."""
    file = cell.path / CONFIG
    if not file.is_file():
        return
    there, prepared = config_in(file), _prepared(cell)
    config = cell.config if prepared is None else prepared.config
    if there is None or not same_settings(there, config):
        hint = f"{_others(there, config)}; allowed is a new folder"
        if there is not None and there.world.charge != cell.config.world.charge:
            hint += f", or --charge {there.world.charge}, which is that run's clock"
        raise HeteroSelectError(f"--out: {cell.path} holds a run with other settings{hint}.")
    # a run that has finished is only read, and whatever moves bits today has not moved its
    if prepared is not None:
        mine = replace(fingerprint(prepared, choose_device(None)), drawn={})  # what is drawn follows from the seed
        found = unlike(cell.path, mine, versions=not cell.done) or []
    else:
        found = differences(cell.path, cell.loaded, {} if known is None else known, versions=not cell.done)
    if found:
        raise HeteroSelectError(f"--out: {cell.path} holds another run ({listed(found)}); allowed is a new folder.")


def _prepared(cell: Cell) -> Experiment | None:
    """A run with what the user handed over, of which settings alone tell nothing."""
    return prepare(cell.loaded, cell.own, identify=True) if cell.own else None


def config_in(file: Path) -> Config | None:
    """Of a run, with defaults for settings that are newer than it; None where another version wrote it."""
    try:
        found = Config.model_validate(read_config(file))
        return found.model_copy(update={"method": completed(found.method)})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _others(there: Config | None, config: Config) -> str:
    """The first settings that differ, with both values, in brackets."""
    if there is None:
        return ""
    found = unequal(deciding(there.model_dump()), deciding(config.model_dump()))
    texts = [
        f"{key}: your file has changed" if key.endswith(".source") else f"{key}: {old} → {new}"
        for key, old, new in found
    ]
    return f" ({', '.join(texts[:3])}{', …' if len(texts) > 3 else ''})"


def same_settings(one: Config, other: Config) -> bool:
    """Whether two configurations decide the same: all but what is only shown, and where things lie."""
    return deciding(one.model_dump()) == deciding(other.model_dump())


def differences(folder: Path, loaded: Loaded, known: dict[Any, str | None], *, versions: bool = True) -> list[str]:
    """How the run in a folder differs from a planned one with the same settings, in its `versions` too or not; nothing
    is known of those that were begun before there were fingerprints."""
    if not (folder / FINGERPRINT).exists():
        return []
    return unlike(folder, planned(loaded, choose_device(None), known), versions=versions) or []


def clocked(changes: Mapping[str, Any], charge: str | None) -> dict[str, Any]:
    """The changes with the clock of a comparison: the one that is asked for, else `everything`. Whatever a preset has,
    methods are compared by what they really cost."""
    if "world.charge" not in changes:
        return {**changes, "world.charge": charge or "everything"}
    if charge is not None:
        raise HeteroSelectError(f"--charge: world.charge is set too; allowed is one of the two, not {charge!r}.")
    return dict(changes)


def play_cell(
    cell: Cell,
    *,
    threads: int | None = None,
    device: str | None = None,
    watch: Callable[[Line], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> str:
    """Run, resume or read it; the run's status."""
    shared: dict[str, Any] = {"threads": threads, "device": device, "watch": watch}
    try:
        if (cell.path / CONFIG).is_file():
            given = {"method": cell.file, "settings": _named(cell.config), "warn": warn, **shared}
            return str(resume(cell.path, cell.own, **given).status)
        if cell.like is not None:
            rewrite(cell.like, cell.path, cell.config.world.charge)
            return "finished"
        return str(run_loaded(cell.loaded, cell.own, out=cell.path, **shared).status)
    except Interrupted as stop:
        return str(stop.result.status)


def _named(config: Config) -> dict[str, str]:
    """What a run that goes on has to be told again, because its folder is not believed in it; here the plan says it."""
    named = {key: kind for key, kind in _kinds(config).items() if own.is_path(kind)}
    if config.data.name.startswith(HUB):
        named["data.name"] = config.data.name
    if config.simulate.checkpoint_dir:
        named["simulate.checkpoint_dir"] = config.simulate.checkpoint_dir
    return named


def _kinds(config: Config) -> dict[str, str]:
    roles = {role: table for role, table in config.method.items() if isinstance(table, Mapping)}
    return {f"method.{role}.kind": str(table["kind"]) for role, table in roles.items()}
