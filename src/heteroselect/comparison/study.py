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

A crossed row is named after its row and the values of the axes, as in the claim.

With `keep_rounds = true` the rounds of its runs are kept beside the file of results, so that each figure can be made
again from them.

A study that cannot be understood is refused before its first run. A pair of a cross that cannot work is left out, with
the reason.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from heteroselect.comparison.grid import Cell, config_in, differences, refuse_another
from heteroselect.errors import HeteroSelectError
from heteroselect.files import read_toml
from heteroselect.runs.fingerprint import deciding
from heteroselect.runs.folder import CONFIG, finished, read_summary
from heteroselect.runs.own import Own
from heteroselect.runs.reclock import decided
from heteroselect.settings.config import Loaded, flatten, load
from heteroselect.settings.forms import explained
from heteroselect.settings.group import Group
from heteroselect.settings.own import is_path
from heteroselect.settings.schema import PaperRow


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


class ClaimTable(Group):
    """A sentence that the runs may hold or refute: by this figure, one row is better than another; where `times` is not
    1, a cost is below so many times that of the other."""

    text: str
    better: str
    than: str
    figure: Literal[
        "peak_accuracy",
        "final_accuracy",
        "last_accuracy",
        "rounds_to_target",
        "seconds_to_target",
        "megabytes_to_target",
        "wire_megabytes_to_target",
        "all_megabytes_to_target",
    ] = "last_accuracy"
    times: float = Field(1.0, gt=0)

    @model_validator(mode="after")
    def _costs_alone(self) -> Self:
        if self.times != 1 and self.figure.endswith("accuracy"):
            raise ValueError(f"times: allowed are figures to the target with it, not {self.figure}")
        return self


class Study(Group):
    """What a study's file says."""

    row: tuple[RowTable, ...]
    title: str = ""
    preset: str = "mnist"
    seeds: tuple[int, ...] = (42,)
    charge: Literal["paper", "uplink", "everything"] = "everything"
    settings: dict[str, Any] = Field(default_factory=dict)
    cross: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    claim: tuple[ClaimTable, ...] = ()
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


def read(path: Path) -> Study:
    """The study in a file, or one sentence about what is wrong with it."""
    try:
        tables = read_toml(path)
    except OSError as error:
        raise HeteroSelectError(f"study: {path} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise HeteroSelectError(f"study: {path} is not valid TOML ({error}).") from error
    return checked(tables, f"{path}: ")


def checked(tables: Mapping[str, Any], where: str = "") -> Study:
    """The study that these tables are, or one sentence about what is wrong with it; `where` names their place."""
    try:
        study = Study.model_validate(tables)
    except ValidationError as error:
        raise HeteroSelectError(f"study: {where}{explained(error, Study)}.") from error
    labels = [row.label for row in study.row]
    if not labels or len(set(labels)) < len(labels):
        raise HeteroSelectError(f"study: {where}row: allowed are one or more rows, each with a name of its own.")
    labels = study.labels
    for claim in study.claim:
        for name in (claim.better, claim.than):
            if name not in labels:
                allowed = ", ".join(map(repr, labels))
                raise HeteroSelectError(f"study: {where}claim: allowed are the rows {allowed}, not {name!r}.")
    return study


def plan(
    study: Study,
    out: Path,
    only: Sequence[str] = (),
    also: Sequence[Path] = (),
    own: Own | None = None,
) -> Planned:
    """All runs, each in its folder below `out`; one that is finished in a folder below `also`, or in that of another
    study beside `out`, is taken from there, unless model, data or the like are the user's `own`."""
    labels = [row.label for row in study.row]
    for name in only:
        if name not in labels:
            raise HeteroSelectError(f"--only: allowed are {', '.join(labels)}, not {name!r}.")
    cells: list[Cell] = []
    refused: dict[str, str] = {}
    known: dict[Any, str | None] = {}
    files = [file for folder in also for file in sorted(folder.rglob(CONFIG))]
    files = [*files, *sorted(out.parent.glob(f"*/*/seed-*/{CONFIG}"))] if not own else []
    files = [file for file in files if finished(file.parent)]
    configs = [(file.parent, config) for file in files if (config := config_in(file)) is not None]
    there = [(folder, config, deciding(config.model_dump())) for folder, config in configs]
    seeds = sorted({seed for row in study.row for seed in row.seeds or study.seeds})
    for seed, row in itertools.product(seeds, study.row):
        if (only and row.label not in only) or seed not in (row.seeds or study.seeds):
            continue
        for label, settings in _crossed(row, study.cross):
            changes = {**flatten(study.settings), **flatten(row.settings), **settings}
            preset = row.preset or study.preset
            try:
                given = {"world.charge": study.charge, **changes, "seed": seed}
                shared, free = len(study.row) > 1, own is not None and own.metric is not None
                loaded = load(preset, method=row.method, changes=given, compared=shared, any_target=free)
            except HeteroSelectError as error:
                if not study.cross:
                    raise HeteroSelectError(f"study: row {label}: {error}") from error
                refused[label] = str(error)
                continue
            if row.paper:
                loaded = replace(loaded, config=loaded.config.model_copy(update={"paper": row.paper}))
            mine = out / label.replace("/", "-") / f"seed-{seed}"
            wanted = deciding(loaded.config.model_dump())
            same = (folder for folder, _, found in there if found == wanted)
            path = next((folder for folder in same if not differences(folder, loaded, known)), mine)
            clock = {"world.charge": wanted["world.charge"]}  # nothing else differs, and nothing hangs on it
            others = (folder for folder, config, found in there if found | clock == wanted and not decided(config))
            like = next((folder for folder in others if _like(folder, loaded, known)), None) if path == mine else None
            file = row.method if is_path(row.method) else None
            cells.append(Cell(label, seed, loaded, path, file, preset, changes, row.paper, like, own or Own()))
            refuse_another(cells[-1], known)
    return Planned(cells, refused)


def estimate(cells: Sequence[Cell]) -> tuple[list[Cell], float | None]:
    """The runs that are left, and the seconds that they would take at the pace of those of their preset that are
    there; None where there are none of a preset."""
    left, paces = [cell for cell in cells if not cell.done], dict[str, list[float]]()
    for cell in cells:
        if cell.done:
            summary = read_summary(cell.path)
            paces.setdefault(cell.preset, []).append(summary["wall_seconds"] / max(1, summary["rounds_run"]))
    if not all(cell.preset in paces for cell in left):
        return left, None
    return left, sum(cell.config.last_round * fmean(paces[cell.preset]) for cell in left)


def _crossed(row: RowTable, cross: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The row once for each combination of the axes, with a label that names it."""
    for values in itertools.product(*cross.values()):
        label = ", ".join([row.label, *map(str, values)])
        yield label, dict(zip(cross, values, strict=True))


def _like(folder: Path, loaded: Loaded, known: dict[Any, str | None]) -> bool:
    """Whether the run in a folder differs from a planned one in its clock alone."""
    return all(one.startswith("world.charge: ") for one in differences(folder, loaded, known))
