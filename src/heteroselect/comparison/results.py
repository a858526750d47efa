"""What a study gave, as rows of a small file: each run beside the figures of a paper, with a verdict; and its claims.

A row is **reproduced** where the spread of our seeds and that of the paper's figures overlap, **close** where they are
less than a tenth apart (accuracies: one point), and **different** otherwise.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from heteroselect.comparison.claims import judge
from heteroselect.comparison.figures import figures_of
from heteroselect.comparison.grid import Cell
from heteroselect.comparison.over_seeds import number
from heteroselect.comparison.study import Planned, Study
from heteroselect.comparison.table_files import as_json, write_files
from heteroselect.core.measure import Measure
from heteroselect.errors import HeteroSelectError
from heteroselect.files import parse_json
from heteroselect.runs.folder import read_rounds, read_summary
from heteroselect.runs.reclock import depends
from heteroselect.settings.renamed import current
from heteroselect.settings.schema import PaperRow

Row = dict[str, Any]

KEPT = (
    *("round", "accuracy", "loss_mean", "seconds", "cumulative_seconds", "seconds_by_charge"),
    *("bytes_up_paper", "bytes_up", "bytes_down", "bytes_scoring", "bytes_calibration"),
)
"""What of each round is kept beside a file of results: all that its figures are made of."""
COMPARED = {
    "rounds_to_target": "rounds to target",
    "seconds_to_target": "seconds to target",
    "megabytes_to_target": "MB to target",
    "peak_accuracy": "peak accuracy",
}
CLOSE, POINTS = 0.1, 0.01
BETTER_HIGH = ("peak_accuracy", "final_accuracy")


def collect(study: Study, name: str, planned: Planned, command: str) -> dict[str, list[Row]]:
    """The rows of all runs that have ended, and of each claim whose two rows have a seed in common."""
    done = [cell for cell in planned.cells if cell.done]
    rows = [_row(name, cell, command) for cell in done]
    for label in dict.fromkeys(cell.method for cell in done):
        same = [row for row in rows if row["row"] == label]
        paper = next(cell.row.paper for cell in done if cell.method == label)
        word, why = verdict(same, paper)
        for row in same:
            row |= {"verdict": word, "why": why, "paper": [one.model_dump(exclude_none=True) for one in paper]}
    return {"runs": rows, "claims": judge(name, study.claim, rows)}


def _row(study: str, cell: Cell, command: str) -> Row:
    summary, lines = read_summary(cell.path), read_rounds(cell.path)
    measure = Measure.of(summary)
    figures = figures_of(lines, summary["target"], measure)
    reached = figures["rounds_to_target"]
    return {
        **_planned(study, cell),
        "method": summary["method"],
        "reconstruction": bool(summary.get("reconstruction")),
        "sends_float32": bool(summary.get("sends_float32", True)),
        "target": summary["target"],
        **({} if measure == Measure() else {"metric": measure.as_dict()}),
        "stopped": bool(cell.config.stop_at_target and reached and summary["rounds_run"] < cell.config.last_round),
        **figures,
        "decides_by_clock": list(depends(cell.config.method)),
        "worst_tenth_accuracy": summary.get("client_accuracy_worst_tenth"),
        "command": command,
        "version": summary["environment"]["heteroselect"],
        "provenance": summary["environment"],
        "wall_seconds": summary["wall_seconds"],
        "model_sha256": summary["model_sha256"],
    }


def rounds_file(file: Path, row: Row) -> Path:
    """Where the rounds of a row lie, beside the file of results."""
    label = re.sub(r"[^\w.-]+", "-", str(row["row"])).strip("-")
    return file.parent / "rounds" / str(row["study"]) / f"{label}-{row['seed']}.jsonl"


def keep_rounds(file: Path, study: Study, name: str, planned: Planned) -> None:
    """Write the rounds of all runs that have ended beside the file of results, where the study asks for it."""
    for cell in planned.cells if study.keep_rounds else ():
        if cell.done:
            target = rounds_file(file, {"study": name, "row": cell.method, "seed": cell.seed})
            lines = [json.dumps(line, allow_nan=False) + "\n" for line in read_rounds(cell.path, KEPT)]
            write_files(target.parent, {target.name: "".join(lines)})


def verdict(rows: Sequence[Row], paper: Sequence[PaperRow]) -> tuple[str, str]:
    """A word, and one sentence why; empty where no paper gives a figure for these runs."""
    words, reasons = [], []
    for key, label in COMPARED.items():
        theirs = [getattr(one, key) for one in paper if getattr(one, key) is not None]
        if not theirs:
            continue
        ours = [row[key] for row in rows if row[key] is not None]
        words.append(_compared(key, ours, theirs) if len(ours) == len(rows) else "different")
        some = f", {len(ours)} of {len(rows)} arrived" if 0 < len(ours) < len(rows) else ""
        reasons.append(f"{label} {_range(key, ours)}{some} (paper: {_range(key, theirs)})")
    order = ("reproduced", "close", "different")
    return (max(words, key=order.index), "; ".join(reasons) + ".") if words else ("", "")


def _compared(key: str, ours: Sequence[float], theirs: Sequence[float]) -> str:
    apart = max(min(theirs) - max(ours), min(ours) - max(theirs), 0.0)
    near = POINTS if key in BETTER_HIGH else CLOSE * fmean(theirs)
    return "reproduced" if apart == 0 else "close" if apart <= near else "different"


def _range(key: str, values: Sequence[float]) -> str:
    if not values:
        return "not reached"
    texts = [f"{one:.2%}" if key in BETTER_HIGH else number(one) for one in (min(values), max(values))]
    return " to ".join(dict.fromkeys(texts))


def read(file: Path) -> dict[str, list[Row]]:
    """What a file of results holds; nothing where there is none yet."""
    try:
        before = parse_json(file.read_text(encoding="utf-8")) if file.exists() else {}
        known = {kind: list(before.get(kind, [])) for kind in KEYS}
        for kind, keys in KEYS.items():
            for row in known[kind]:
                _key(row, keys)
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise HeteroSelectError(f"--results: {file} is no file of results ({error}).") from error
    return known


def recorded(file: Path, study: str, cells: Sequence[Cell]) -> list[Cell]:
    """Of these runs those whose figures are in a file of results: of this study, row and seed, with these settings."""
    known = [_identity(row) for row in read(file)["runs"]]
    return [cell for cell in cells if _identity(_planned(study, cell)) in known]


def holds_results(file: Path) -> bool:
    """Whether a file holds results."""
    try:
        return bool(read(file)["runs"])
    except HeteroSelectError:
        return False


def _planned(study: str, cell: Cell) -> Row:
    """What is known of a run's row before it is run."""
    about = {"study": study, "row": cell.method, "preset": str(cell.row.source), "method": cell.loaded.method.name}
    return {**about, "settings": dict(cell.row.changes), "seed": cell.seed, "charge": cell.config.world.charge}


def _identity(row: Row) -> Row:
    """What makes a row that of one run; where the data lie is no part of it. (Older rows name no clock: it was the
    paper's.)"""
    found = {key: row.get(key) for key in ("study", "row", "preset", "method", "seed")}
    settings = {key: value for key, value in current(row.get("settings", {})).items() if key != "data.dir"}
    found |= {"settings": json.loads(json.dumps(settings)), "charge": row.get("charge", "paper")}
    return found


KEYS = {"runs": ("study", "row", "seed"), "claims": ("study", "text")}


def _key(row: Row, keys: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[key] for key in keys)


def merge(file: Path, found: Mapping[str, Sequence[Row]]) -> None:
    """Put the rows of a study into a file of results, in place of those that it had of the same runs."""
    known = read(file)
    for kind, keys in KEYS.items():
        new = {_key(row, keys): row for row in found[kind]}
        kept = [row for row in known[kind] if _key(row, keys) not in new]
        known[kind] = sorted([*kept, *new.values()], key=lambda row: str(row["study"]))
    write_files(file.parent, {file.name: as_json(known)})
