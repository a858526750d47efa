"""Grids of runs: a cell is a row with a seed, and one runner plays those of `compare`, `--cross`, `study` and `tune`.

All runs of a seed share the partition, the links and the devices, because these come from the seed and the experiment
alone; what a method sets of the data is left out. Finished runs are not run again, and interrupted ones are resumed.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from heteroselect.data import HUB
from heteroselect.errors import FolderError, HeteroSelectError, SettingError
from heteroselect.round.method import Method
from heteroselect.runs.api import choose_device, resume, run_loaded
from heteroselect.runs.display.progress import Show
from heteroselect.runs.experiment import prepare
from heteroselect.runs.fingerprint import deciding, listed, unequal
from heteroselect.runs.folder import CONFIG, finished, whole_rounds
from heteroselect.runs.identity import fingerprint, planned, unlike
from heteroselect.runs.own import Own
from heteroselect.runs.reclock import rewrite
from heteroselect.runs.result import Interrupted, Line
from heteroselect.settings import Config, PaperRow, own
from heteroselect.settings.config import Loaded, load, read_config
from heteroselect.settings.method import completed

Source = str | Path | Mapping[str, Any]
NOTHING = Own()
Known = dict[Any, str | None]
"""Digests of data sets, each of which is read once."""


@dataclass(frozen=True)
class Row:
    """A row of a grid: a method with settings laid over a preset, which makes a cell of each seed."""

    method: str | Method
    source: Source
    changes: Mapping[str, Any]
    """what it changes of the preset"""
    out: Path
    label: str = ""
    """by default the method's name"""
    folder: Path | None = None
    """by default that of its label below `out`"""
    charge: str = "everything"
    compared: bool = True
    paper: tuple[PaperRow, ...] = ()
    """the figures of a paper that it stands beside"""
    own: Own = NOTHING
    """model, data and the like, where the user handed them over"""

    def cell(self, seed: int) -> "Cell":
        given = {"world.charge": self.charge, **self.changes, "seed": seed}
        free = self.own.metric is not None
        loaded = load(self.source, method=self.method, changes=given, compared=self.compared, any_target=free)
        if self.paper:
            loaded = replace(loaded, config=loaded.config.model_copy(update={"paper": self.paper}))
        row = replace(self, label=self.label or loaded.method.name)
        return Cell(row, seed, loaded, (row.folder or row.out / row.label.replace("/", "-")) / f"seed-{seed}")


@dataclass(frozen=True)
class Cell:
    """One run of a grid: its row and its seed, its settings and its method, and the folder it is or will be in."""

    row: Row
    seed: int
    loaded: Loaded
    path: Path
    like: Path | None = None
    """the same run under another clock, where that makes no other difference"""

    @property
    def method(self) -> str:
        """The label of its row."""
        return self.row.label

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def done(self) -> bool:
        return finished(self.path)

    def reached(self, until: int | None) -> bool:
        """Whether the run is there up to this round, or to its end."""
        return self.done or (until is not None and len(whole_rounds(self.path)) >= until)


def grid(
    preset: Source,
    names: Sequence[str | Method],
    seeds: Sequence[int],
    changes: Mapping[str, Any],
    out: Path,
    tuned: Mapping[str, Mapping[str, Any]] | None = None,
    handed: Own = NOTHING,
) -> list[Cell]:
    """All runs of a comparison, seed by seed, so that one that is interrupted has compared all methods on the seeds it
    has. `tuned` has settings of single methods, by name; `handed` is what the user handed over."""
    refuse_twice(called(names), seeds)
    if (out / CONFIG).is_file():
        raise FolderError(f"--out: {out} holds a run; name a new folder, or one of an earlier comparison.")
    rows = [
        Row(given, preset, {**(tuned or {}).get(name, {}), **changes}, out, own=handed)
        for name, given in zip(called(names), names, strict=True)
    ]
    cells = [row.cell(seed) for seed in seeds for row in rows]
    if len({cell.method for cell in cells}) < len(names):
        raise SettingError("--methods: two of them have one name; give each method of your own another name.")
    known: Known = {}
    for cell in cells:
        refuse_another(cell, known)
    return cells


def called(methods: Sequence[str | Method]) -> list[str]:
    """The methods by name."""
    return [one.name if isinstance(one, Method) else one for one in methods]


def refuse_twice(names: Sequence[str], seeds: Sequence[int]) -> None:
    """Refuse a method or a seed that is named twice, and none at all."""
    if not names or len(set(names)) < len(names):
        raise SettingError("--methods: give one or more names, each once, as in --methods fedavg,oort.")
    if not seeds or len(set(seeds)) < len(seeds):
        raise SettingError("--seeds: give one or more whole numbers, each once, as in --seeds 42-46.")


def clocked(changes: Mapping[str, Any], charge: str | None = None) -> dict[str, Any]:
    """The changes with the clock of a comparison: the one that is asked for, else `everything`. Whatever a preset has,
    methods are compared by what they really cost."""
    if charge is not None and "world.charge" in changes:
        raise SettingError(f"--charge: world.charge is set too; leave out one of the two, {charge!r} or that.")
    return {"world.charge": charge or "everything", **changes}


def refuse_another(cell: Cell, known: Known) -> None:
    """Refuse a folder of the grid that holds another run than this very one. A run that has finished is only read:
    whatever moves bits today has not moved its bits."""
    if not (cell.path / CONFIG).is_file():
        return
    if not cell.row.own:
        _refuse_other_settings(cell, cell.config)
        found = differences(cell.path, cell.loaded, known, versions=not cell.done)
    else:  # settings say nothing of what the user handed over
        prepared = prepare(cell.loaded, cell.row.own, identify=True)
        _refuse_other_settings(cell, prepared.config)
        mine = replace(fingerprint(prepared, choose_device(None)), drawn={})  # what is drawn follows from the seed
        found = unlike(cell.path, mine, versions=not cell.done)
    if found:
        raise FolderError(f"--out: {cell.path} holds another run ({listed(found)}); name a new folder.")


def _refuse_other_settings(cell: Cell, config: Config) -> None:
    there, text = config_in(cell.path / CONFIG), f"--out: {cell.path} holds a run with other settings"
    if there is None:
        raise FolderError(f"{text}; name a new folder.")
    texts = [
        f"{key}: your file has changed" if key.endswith(".source") else f"{key}: {old} → {new}"
        for key, old, new in unequal(deciding(there.model_dump()), deciding(config.model_dump()))
    ]
    if texts:
        text += f" ({', '.join(texts[:3])}{', …' if len(texts) > 3 else ''}); name a new folder"
        if there.world.charge != config.world.charge:
            text += f", or give --charge {there.world.charge}, which is that run's clock"
        raise FolderError(f"{text}.")


def config_in(file: Path) -> Config | None:
    """Of a run, with defaults for settings that are newer than it; None where another version wrote it."""
    try:
        found = Config.model_validate(read_config(file))
        return found.model_copy(update={"method": completed(found.method)})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def differences(folder: Path, loaded: Loaded, known: Known, *, versions: bool = True) -> list[str]:
    """How the run in a folder differs from a planned one with the same settings, in its `versions` too or not."""
    return unlike(folder, planned(loaded, choose_device(None), known), versions=versions)


class Pause(KeyboardInterrupt):
    """Ends a run after a round as Ctrl-C would: with a checkpoint, so that it can go on."""


@dataclass
class Runner:
    """Plays cells one after the other, shows how far they are, and keeps the rows that failed, with the reason."""

    show: Show
    by_line: bool
    """whether a line is shown for each run that ends, instead of how far it is"""
    warn: Callable[[str], None]
    threads: int | None = None
    minutes: float | None = None
    """after which no run is started any more"""
    rounds: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    _told: dict[str, str] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)

    def play_all(self, cells: Sequence[Cell]) -> dict[str, str]:
        """Play all cells, or as many as can be started in time; returns the rows that failed, and why. Ctrl-C stops all
        of them, after the run in hand was closed."""
        for number, cell in enumerate(cells, 1):
            late = self.minutes is not None and time.monotonic() - self._began > 60 * self.minutes
            if cell.done or not late:
                self.play(cell, f"{cell.method}, seed {cell.seed} ({number} of {len(cells)})")
        return self.failed

    def play(self, cell: Cell, name: str, until: int | None = None) -> bool:
        """Run, resume or read a cell, to its end or until a round; returns whether that could be done."""
        there, last = cell.reached(until), cell.config.last_round

        def progress() -> None:
            if not self.by_line:
                self.show(name, self.rounds)

        def watch(line: Line) -> None:
            self.rounds += 1
            progress()
            if until is not None and until <= line["round"] < last:
                raise Pause

        progress()
        status = "was there"
        if not there or until is None:  # one that has ended is read, and what a kill left beside it is cleared
            try:
                status = play_cell(cell, threads=self.threads, watch=watch, warn=self.warn)
            except Exception as error:  # whatever it is: the others are run all the same
                self._fail(cell.method, name, error)
                return False
        if status == "interrupted" and not (until and cell.reached(until)):
            raise KeyboardInterrupt
        if there:
            self.rounds += until or last
        if self.by_line:
            self.show(f"{name}: {'was there' if there else f'round {until}' if until else status}", self.rounds)
        return True

    def _fail(self, row: str, name: str, error: Exception) -> None:
        why = f"{'' if isinstance(error, HeteroSelectError) else type(error).__name__ + ': '}{error}"
        self.warn(f"{name}: {f'stopped, for the same reason as {self._told[why]}.' if why in self._told else why}")
        self.failed[row] = why
        self._told.setdefault(why, name)


def play_cell(
    cell: Cell,
    *,
    threads: int | None = None,
    watch: Callable[[Line], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> str:
    """Run, resume or read it; the run's status."""
    row, shared = cell.row, dict[str, Any](threads=threads, watch=watch)
    try:
        if (cell.path / CONFIG).is_file():
            mine = row.method if isinstance(row.method, Method) or own.is_path(row.method) else None
            named = _named(cell.config)
            return str(resume(cell.path, row.own, method=mine, settings=named, warn=warn, **shared).status)
        if cell.like is not None:
            rewrite(cell.like, cell.path, cell.config.world.charge)
            return "finished"
        return str(run_loaded(cell.loaded, row.own, out=cell.path, **shared).status)
    except Interrupted as stop:
        return str(stop.result.status)


def _named(config: Config) -> dict[str, str]:
    """What a run that goes on has to be told again, because its folder is not believed in it; here the plan says it."""
    parts = {role: table for role, table in config.method.items() if isinstance(table, Mapping)}
    named = {f"method.{role}.kind": table["kind"] for role, table in parts.items() if own.is_path(table["kind"])}
    if config.data.name.startswith(HUB):
        named["data.name"] = config.data.name
    return named
