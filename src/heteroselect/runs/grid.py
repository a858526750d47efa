"""Many methods under one clock: a grid of methods and seeds, and the table of their difference.

All runs of a seed share the partition, the links and the devices, because these come from the seed and the experiment
and from nothing else; what a method sets of the data is left out. A grid can be broken off and gone on with:
finished runs are not run again, and a run that was interrupted is resumed.
"""

import csv
import io
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from heteroselect.errors import HeteroSelectError
from heteroselect.files import write_whole
from heteroselect.methods.entry import STAR
from heteroselect.runs.api import resume, run_loaded
from heteroselect.runs.folder import CONFIG, finished, for_people, read_rounds, read_summary
from heteroselect.runs.loop import Line
from heteroselect.settings import Config, PaperRow, own
from heteroselect.settings.config import Loaded, load

Summary = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One run of the grid: its settings and its method, the folder it is or will be in, the file of the method where it
    is the user's own (FILE.py:NAME), what its row changes of which preset, and the figures that it stands beside."""

    method: str
    seed: int
    loaded: Loaded
    path: Path
    file: str | None = None
    preset: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    beside: tuple[PaperRow, ...] = ()

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def done(self) -> bool:
        return finished(self.path)


def grid(
    preset: str | Path | Mapping[str, Any],
    names: Sequence[str],
    seeds: Sequence[int],
    changes: Mapping[str, Any],
    out: Path,
) -> list[Cell]:
    """All runs, seed by seed, so that a grid that is broken off has compared everybody on the seeds it has. A name may
    be that of a file, FILE.py:NAME."""
    if not names or len(set(names)) < len(names):
        raise HeteroSelectError("--methods: allowed are one or more names, each once.")
    if not seeds or len(set(seeds)) < len(seeds):
        raise HeteroSelectError("--seeds: allowed are one or more whole numbers, each once.")
    if (out / CONFIG).is_file():
        raise HeteroSelectError(f"--out: {out} holds a run; allowed is a new folder, or one of an earlier comparison.")
    cells = []
    for seed in seeds:
        for name in names:
            loaded = load(preset, method=name, changes={**changes, "seed": seed}, shared_data=True)
            called = loaded.method.name
            file = name if own.is_path(name) else None
            cells.append(Cell(called, seed, loaded, out / called / f"seed-{seed}", file))
    if len({cell.method for cell in cells}) < len(names):
        raise HeteroSelectError("--methods: two of them have one name; allowed is another name for each of your own.")
    for cell in cells:
        _refuse_another(cell)
    return cells


def _refuse_another(cell: Cell) -> None:
    """A folder of the grid may hold this very run, and no other."""
    file = cell.path / CONFIG
    if not file.is_file():
        return
    try:  # settings that are newer than the run have their defaults
        known = Config.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except ValueError:
        known = None
    if known != cell.config:
        raise HeteroSelectError(f"--out: {cell.path} holds a run with other settings; allowed is a new folder.")


def play_cell(
    cell: Cell,
    *,
    threads: int | None = None,
    device: str | None = None,
    watch: Callable[[Line], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> str:
    """Run, resume or read it; the run's status."""
    if (cell.path / CONFIG).is_file():
        own_parts = {key: kind for key, kind in _kinds(cell.config).items() if own.is_path(kind)}
        return str(
            resume(
                cell.path,
                method=cell.file,
                settings=own_parts,
                threads=threads,
                device=device,
                watch=watch,
                warn=warn,
            ).status
        )
    return str(run_loaded(cell.loaded, out=cell.path, threads=threads, device=device, watch=watch).status)


def _kinds(config: Config) -> dict[str, str]:
    roles = {role: table for role, table in config.method.items() if isinstance(table, Mapping)}
    return {f"method.{role}.kind": str(table["kind"]) for role, table in roles.items()}


@dataclass(frozen=True)
class Row:
    """One method over its seeds: of each figure what every seed gave, None where the target was not reached."""

    method: str
    reconstruction: bool
    figures: dict[str, list[float | None]]
    difference: tuple[float, float] | None

    @property
    def label(self) -> str:
        return self.method + ("*" if self.reconstruction else "")


COLUMNS = {
    "peak_accuracy": ("peak", "%"),
    "final_accuracy": ("final", "%"),
    "rounds_to_target": ("rounds to target", ""),
    "seconds_to_target": ("s to target", ""),
    "megabytes_to_target": ("MB to target, values only", ""),
    "wire_megabytes_to_target": ("MB to target, real", ""),
    "down_megabytes": ("MB down in all", ""),
    "scoring_megabytes": ("MB scoring in all", ""),
    "accuracy_at_equal_bytes": ("accuracy at equal bytes", "%"),
    "accuracy_at_equal_seconds": ("accuracy at equal seconds", "%"),
    "wall_seconds": ("wall s", ""),
}


def rows(cells: Sequence[Cell]) -> tuple[list[Row], list[Summary]]:
    """The table, and what each run gave. Equal bytes and seconds are those that the first method took in all, with the
    same seed; the difference is that of final accuracies to the first method's, paired by seed."""
    found: dict[tuple[str, int], Summary] = {}
    lines: dict[tuple[str, int], list[Line]] = {}
    for cell in cells:
        key = cell.method, cell.seed
        found[key], lines[key] = read_summary(cell.path), read_rounds(cell.path)
    names, seeds = list(dict.fromkeys(c.method for c in cells)), list(dict.fromkeys(c.seed for c in cells))
    for (name, seed), summary in found.items():
        first, mine = found.get((names[0], seed)), lines[name, seed]
        summary["row"] = name
        summary["down_megabytes"] = summary["bytes_down"] / 1e6
        summary["scoring_megabytes"] = summary["bytes_scoring"] / 1e6
        for kind, budget in (("bytes", "bytes_up"), ("seconds", "total_seconds")):
            column = "bytes_up" if kind == "bytes" else "seconds"
            at = None if first is None else accuracy_at(mine, column, first[budget])
            summary[f"accuracy_at_equal_{kind}"] = at
    table = []
    for name in names:
        shared = [seed for seed in seeds if (name, seed) in found and (names[0], seed) in found]
        runs = [found[name, seed] for seed in seeds if (name, seed) in found]
        pairs = [
            (found[name, seed]["final_accuracy"], found[names[0], seed]["final_accuracy"])
            for seed in shared
            if name != names[0]
        ]
        table.append(
            Row(
                name,
                bool(runs[0].get("reconstruction")),
                {field: [run[field] for run in runs] for field in COLUMNS},
                interval([a - b for a, b in pairs if a is not None and b is not None]),
            )
        )
    return table, list(found.values())


def accuracy_at(lines: Sequence[Line], kind: str, budget: float) -> float | None:
    """The last accuracy measured before more than `budget` was spent; None where not one round fits.

    >>> lines = [{"accuracy": 0.5, "seconds": 2}, {"accuracy": 0.7, "seconds": 2}]
    >>> accuracy_at(lines, "seconds", 3)
    0.5
    """
    spent, accuracy = 0.0, None
    for line in lines:
        spent += line[kind]
        if spent > budget * (1 + 1e-9):
            break
        accuracy = line["accuracy"] if line["accuracy"] is not None else accuracy
    return accuracy


def interval(differences: Sequence[float]) -> tuple[float, float] | None:
    """The mean of paired differences, and half the width of its 95 % interval (Student's t); NaN for one pair.

    >>> mean, half = interval([0.01, 0.02, 0.03])
    >>> round(mean, 3), round(half, 4)
    (0.02, 0.0248)
    """
    if not differences:
        return None
    mean, count = float(np.mean(differences)), len(differences)
    if count == 1:
        return mean, float("nan")
    error = float(np.std(differences, ddof=1)) / np.sqrt(count)
    return mean, float(stats.t.ppf(0.975, count - 1) * error)


def shown(values: Sequence[float | None], unit: str) -> str:
    """Mean ± standard deviation over seeds; where some seeds did not reach the target, of how many it is."""
    known = [value for value in values if value is not None]
    if not known:
        return "not reached"
    scale = 100 if unit else 1
    numbers = scale * np.array(known, float)
    digits = 2 if unit or numbers.mean() < 10 else 1 if numbers.mean() < 1000 else 0
    text = f"{numbers.mean():,.{digits}f}"
    if len(known) > 1:
        text += f" ± {numbers.std(ddof=1):,.{digits}f}"
    return text + (f" ({len(known)} of {len(values)})" if len(known) < len(values) else "")


def difference(row: Row) -> str:
    if row.difference is None:
        return ""
    mean, half = row.difference
    return f"{100 * mean:+.2f}" + ("" if np.isnan(half) else f" ± {100 * half:.2f}")


def cells_of(row: Row) -> list[str]:
    """A line of the table."""
    return [
        row.label,
        *(shown(row.figures[field], unit) for field, (_, unit) in COLUMNS.items()),
        difference(row),
    ]


def heads() -> list[str]:
    names = [name + (f", {unit}" if unit else "") for name, unit in COLUMNS.values()]
    return ["method", *names, "final − first, points (95 %)"]


def halves(width: int) -> list[list[int]]:
    """The columns of the tables that fit a terminal: one where it is wide, else how good, how soon, and how costly."""
    parts = [[0, 1, 2, 9, 10, 12], [0, 3, 4, 5, 6], [0, 7, 8, 11]]
    return [list(range(len(COLUMNS) + 2))] if width >= 220 else parts


def markdown(table: Sequence[Row], command: str) -> str:
    lines = ["| " + " | ".join(heads()) + " |", "|---|" + "---:|" * (len(COLUMNS) + 1)]
    lines += ["| " + " | ".join(cells_of(row)) + " |" for row in table]
    notes = [
        f"Made by `{command}`. Mean ± standard deviation over seeds. Equal bytes (real uplink) and equal simulated"
    ]
    notes += ["seconds are those that the first method took in all."]
    if any(row.reconstruction for row in table):
        notes += [f"{STAR}."]
    return "\n".join(["\n".join(notes), "", *lines, ""])


def latex(table: Sequence[Row]) -> str:
    """The table for a paper, with the rules of booktabs."""
    escaped = str.maketrans({"%": r"\%", "_": r"\_", "&": r"\&", "±": r"$\pm$", "−": "--"})
    rows = [heads(), *(cells_of(row) for row in table)]
    head, *body = (" & ".join(cell.translate(escaped) for cell in row) + r" \\" for row in rows)
    first, last = rf"\begin{{tabular}}{{l{'r' * (len(rows[0]) - 1)}}}", r"\end{tabular}"
    return "\n".join([first, r"\toprule", head, r"\midrule", *body, r"\bottomrule", last, ""])


def write(
    cells: Sequence[Cell], out: Path, command: str, stem: str = "compare", claims: Mapping[str, Any] | None = None
) -> list[Row]:
    """The table as Markdown, CSV, JSON and LaTeX; `claims` are those of a study, by a sentence on each."""
    table, runs = rows(cells)
    text = io.StringIO()
    fields = ["row", "method", "seed", "reconstruction", "status", "model_sha256", *COLUMNS]
    writer = csv.DictWriter(text, fields, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(runs)
    content = {
        "command": command,
        "runs": runs,
        "table": [{**vars(row), "label": row.label} for row in table],
        **({} if claims is None else {"claims": list(claims.values())}),
    }
    page = "\n".join([markdown(table, command), *(f"- {sentence}" for sentence in claims or ())])
    with for_people(out):
        write_whole(out / f"{stem}.md", page.encode())
        write_whole(out / f"{stem}.csv", text.getvalue().encode())
        write_whole(out / f"{stem}.tex", latex(table).encode())
        write_whole(out / f"{stem}.json", (json.dumps(_no_nan(content), indent=1, allow_nan=False) + "\n").encode())
    return table


def _no_nan(value: Any) -> Any:
    """JSON has no NaN: the interval of a single pair is null."""
    if isinstance(value, Mapping):
        return {key: _no_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_no_nan(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
