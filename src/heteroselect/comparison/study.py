"""A study: a TOML file that names a preset, rows, seeds and axes to cross; and the grid of runs that it stands for.

    preset = "mnist"
    charge = "everything"
    seeds = [42, 43]
    [settings]
    rounds = 50
    [[row]]
    method = "fedavg"
    [[row]]
    name = "no score"
    method = "heteroselect"
    settings = { "method.select.kind" = "uniform" }
    [cross]
    "method.compress.kind" = ["none", "topk"]
    [[claim]]
    text = "a uniform draw ends higher than FedAvg with top-k"
    better = "no score, topk"
    than = "fedavg, topk"
    figure = "final_accuracy"

Of a claim about a cost, such as `figure = "seconds_to_target"`, `times = 0.25` asks for a quarter of the other's.
`charge` is the clock of all rows (world.charge), everything where it is left out. A finished run that differs from a
row in its clock alone is taken over with its seconds by the other one, where nothing in it hangs on the clock.

A crossed row is named after its row and the values of the axes, as in the claim. A study that cannot be understood is
refused before its first run; a pair of a cross that cannot work is left out, with the reason.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from pydantic import Field, ValidationError

from heteroselect.comparison.claims import Claim
from heteroselect.comparison.grid import NOTHING, Cell, Known, Row, config_in, differences, refuse_another
from heteroselect.errors import HeteroSelectError, SettingError
from heteroselect.files import read_toml
from heteroselect.runs.fingerprint import deciding
from heteroselect.runs.folder import CONFIG, finished, read_summary
from heteroselect.runs.own import Own
from heteroselect.runs.reclock import decided
from heteroselect.settings import Config
from heteroselect.settings.config import flatten
from heteroselect.settings.group import Group, explained
from heteroselect.settings.schema import PaperRow

Finished = tuple[Path, Config, dict[str, Any]]
"""A run that a study takes instead of running it again: its folder, its settings, and those of them that decide."""


class RowTable(Group):
    """A row of a study: a method with settings that differ, under a name of its own."""

    method: str
    name: str = ""
    preset: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    paper: tuple[PaperRow, ...] = ()

    @property
    def label(self) -> str:
        return self.name or self.method


class Study(Group):
    """What a study's file says."""

    row: tuple[RowTable, ...]
    title: str = ""
    preset: str = "mnist"
    seeds: tuple[int, ...] = (42,)
    charge: Literal["paper", "uplink", "everything"] = "everything"
    settings: dict[str, Any] = Field(default_factory=dict)
    cross: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    claim: tuple[Claim, ...] = ()
    keep_rounds: bool = False
    """whether the rounds of its runs are kept beside a file of results"""

    @property
    def labels(self) -> list[str]:
        """Of all rows, crossed ones by their values."""
        return [label for row in self.row for label, _ in _crossed(row, self.cross)]


@dataclass(frozen=True)
class Planned:
    """The runs of a study, seed by seed, and the pairs of its cross that were refused, with the reason."""

    cells: list[Cell]
    refused: dict[str, str] = field(default_factory=dict)


def read(source: str | Path | Mapping[str, Any], settings: Mapping[str, Any] | None = None) -> Study:
    """The study in a file or a mapping, with changes of its settings laid over it; or one sentence about what is wrong
    with it."""
    where = "" if isinstance(source, Mapping) else f"{source}: "
    try:
        study = Study.model_validate(source if isinstance(source, Mapping) else read_toml(Path(source)))
    except ValidationError as error:
        raise SettingError(f"study: {where}{explained(error, Study)}.") from error
    except OSError as error:
        raise SettingError(f"study: {source} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise SettingError(f"study: {source} is not valid TOML ({error}).") from error
    labels = [row.label for row in study.row]
    if not labels or len(set(labels)) < len(labels):
        raise SettingError(f"study: {where}row: give one or more rows, each with a name of its own.")
    for name in (name for claim in study.claim for name in (claim.better, claim.than)):
        if name not in study.labels:
            known = ", ".join(map(repr, study.labels))
            raise SettingError(f"study: {where}claim: there is no row {name!r}; name two of {known}.")
    return study.model_copy(update={"settings": {**study.settings, **(settings or {})}})


def plan(study: Study, out: Path, only: Sequence[str] = (), also: Sequence[Path] = (), own: Own = NOTHING) -> Planned:
    """All runs, each in its folder below `out`; one that is finished in a folder below `also`, or in that of another
    study beside `out`, is taken from there, unless model, data or the like are the user's `own`."""
    labels = [row.label for row in study.row]
    for name in only:
        if name not in labels:
            raise SettingError(f"--only: there is no row {name!r}; name one of {', '.join(labels)}.")
    planned, known = Planned([], {}), Known()
    runs = [] if own else _finished(out, also)
    for seed, row in _rows(study, only, out, own):
        try:
            cell = row.cell(seed)
        except HeteroSelectError as error:
            if not study.cross:
                raise SettingError(f"study: row {row.label}: {error}") from error
            planned.refused[row.label] = str(error)
            continue
        planned.cells.append(_taken(cell, runs, known))
        refuse_another(planned.cells[-1], known)
    return planned


def _rows(study: Study, only: Sequence[str], out: Path, own: Own) -> Iterator[tuple[int, Row]]:
    """Seed by seed, the rows that have it, crossed ones once for each combination of the axes."""
    seeds = {row.label: row.seeds or study.seeds for row in study.row}
    for seed in sorted({seed for same in seeds.values() for seed in same}):
        for row in (row for row in study.row if seed in seeds[row.label] and (not only or row.label in only)):
            for label, values in _crossed(row, study.cross):
                changes = {**flatten(study.settings), **flatten(row.settings), **values}
                source, shared = row.preset or study.preset, len(study.row) > 1
                yield seed, Row(row.method, source, changes, out, label, None, study.charge, shared, row.paper, own)


def _crossed(row: RowTable, cross: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The row once for each combination of the axes, with a label that names it."""
    for values in itertools.product(*cross.values()):
        yield ", ".join([row.label, *map(str, values)]), dict(zip(cross, values, strict=True))


def _finished(out: Path, also: Sequence[Path]) -> list[Finished]:
    """The finished runs below `also` and in the studies beside `out`."""
    files = [file for folder in also for file in sorted(folder.rglob(CONFIG))]
    files += sorted(out.parent.glob(f"*/*/seed-*/{CONFIG}"))
    runs = [(file.parent, config_in(file)) for file in files if finished(file.parent)]
    return [(folder, config, deciding(config.model_dump())) for folder, config in runs if config is not None]


def _taken(cell: Cell, runs: Sequence[Finished], known: Known) -> Cell:
    """The cell in the folder of the same run among those that have finished, or beside one that differs in its clock
    alone, where nothing in it hangs on the clock."""
    wanted, like = deciding(cell.config.model_dump()), None
    for folder, config, there in runs:
        if there | {"world.charge": wanted["world.charge"]} != wanted:
            continue
        found = differences(folder, cell.loaded, known)
        if there == wanted and not found:
            return replace(cell, path=folder)
        by_clock = there != wanted and all(one.startswith("world.charge: ") for one in found)
        if like is None and by_clock and not decided(config):
            like = folder
    return replace(cell, like=like)


def estimate(cells: Sequence[Cell]) -> tuple[list[Cell], float | None]:
    """The runs that are left, and the seconds that they would take at the pace of those of their preset that are
    there; None where there are none of a preset."""
    left, paces = [cell for cell in cells if not cell.done], dict[Any, list[float]]()
    for cell in cells:
        if cell.done:
            summary = read_summary(cell.path)
            paces.setdefault(cell.row.source, []).append(summary["wall_seconds"] / max(1, summary["rounds_run"]))
    if not all(cell.row.source in paces for cell in left):
        return left, None
    return left, sum(cell.config.last_round * fmean(paces[cell.row.source]) for cell in left)
