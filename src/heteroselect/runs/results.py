"""What a study gave, as rows of a small file: each run beside the figures of a paper, with a verdict; and its claims.

A row is **reproduced** where the paper's figures lie within the spread of our seeds, **close** where they are within a
tenth (accuracies: one point) of it, and **different** otherwise. A claim says that one row is better than another: it
**holds** where the 95 % interval of the paired differences is on its side of zero, is **refuted** where it is on the
other side, and is **not told apart** where the interval has zero in it.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heteroselect.errors import HeteroSelectError
from heteroselect.files import write_whole
from heteroselect.runs.folder import for_people, read_rounds, read_summary
from heteroselect.runs.grid import Cell, interval
from heteroselect.runs.reclock import depends
from heteroselect.runs.study import ClaimTable, Planned, Study
from heteroselect.settings.schema import PaperRow

Row = dict[str, Any]

COPIED = (
    *("rounds_run", "peak_accuracy", "final_accuracy", "rounds_to_target", "seconds_to_target"),
    *("megabytes_to_target", "wire_megabytes_to_target", "total_seconds", "total_wire_megabytes"),
)
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
        paper = next(cell.beside for cell in done if cell.method == label)
        word, why = verdict(same, paper)
        for row in same:
            row |= {"verdict": word, "why": why, "paper": [one.model_dump(exclude_none=True) for one in paper]}
    claims = [claimed for one in study.claim if (claimed := judge(name, one, rows))]
    return {"runs": rows, "claims": claims}


def _row(study: str, cell: Cell, command: str) -> Row:
    summary, lines = read_summary(cell.path), read_rounds(cell.path)
    reached = summary["rounds_to_target"]
    clocks = lines[0].get("seconds_by_charge", {}) if lines else {}
    return {
        "study": study,
        "row": cell.method,
        "preset": cell.preset,
        "method": summary["method"],
        "reconstruction": bool(summary.get("reconstruction")),
        "settings": dict(cell.changes),
        "seed": cell.seed,
        "target": summary["target"],
        **{key: summary[key] for key in COPIED},
        "last_accuracy": tail(lines),
        "seconds_to_target_by_clock": {
            clock: reached and sum(line["seconds_by_charge"][clock] for line in lines[:reached]) for clock in clocks
        },
        "decides_by_clock": list(depends(cell.config.method)),
        "down_megabytes_to_target": reached and sum(line["bytes_down"] for line in lines[:reached]) / 1e6,
        "scoring_megabytes_to_target": reached and sum(line["bytes_scoring"] for line in lines[:reached]) / 1e6,
        "command": command,
        "version": summary["environment"]["heteroselect"],
        "wall_seconds": summary["wall_seconds"],
        "model_sha256": summary["model_sha256"],
    }


def tail(lines: Sequence[Mapping[str, Any]], last: int = 5) -> float | None:
    """The mean of the last evaluations: accuracy swings from cohort to cohort, and its last value with it."""
    found = [line["accuracy"] for line in lines if line["accuracy"] is not None][-last:]
    return float(np.mean(found)) if found else None


def verdict(rows: Sequence[Row], paper: Sequence[PaperRow]) -> tuple[str, str]:
    """A word, and one sentence why; empty where no paper gives a figure for these runs."""
    words, reasons = [], []
    for key, label in COMPARED.items():
        theirs = [getattr(one, key) for one in paper if getattr(one, key) is not None]
        if not theirs:
            continue
        ours = [row[key] for row in rows if row[key] is not None]
        words.append(_compared(key, ours, theirs) if len(ours) == len(rows) else "different")
        reasons.append(f"{label} {_range(key, ours)} (paper: {_range(key, theirs)})")
    order = ("reproduced", "close", "different")
    return (max(words, key=order.index), "; ".join(reasons) + ".") if words else ("", "")


def _compared(key: str, ours: Sequence[float], theirs: Sequence[float]) -> str:
    apart = max(min(theirs) - max(ours), min(ours) - max(theirs), 0.0)
    if apart == 0:
        return "reproduced"
    near = POINTS if key in BETTER_HIGH else CLOSE * float(np.mean(theirs))
    return "close" if apart <= near else "different"


def _range(key: str, values: Sequence[float]) -> str:
    if not values:
        return "not reached"
    texts = [f"{value:.2%}" if key in BETTER_HIGH else f"{value:,.4g}" for value in (min(values), max(values))]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def judge(study: str, claim: ClaimTable, rows: Sequence[Row]) -> Row | None:
    """Whether `claim.better` is better than `claim.than`, by differences paired by seed. A seed that never reaches the
    target has no difference to give; how many have one is noted."""
    pairs = []
    for mine in (row for row in rows if row["row"] == claim.better):
        for other in (row for row in rows if row["row"] == claim.than and row["seed"] == mine["seed"]):
            if mine[claim.figure] is not None and other[claim.figure] is not None:
                pairs.append(mine[claim.figure] - other[claim.figure])
    found = interval(pairs)
    if found is None:
        return None
    mean, half = found
    side = mean if claim.figure in HIGH else -mean
    word = "not told apart" if not abs(mean) > half else "holds" if side > 0 else "refuted"
    return {
        "study": study,
        **claim.model_dump(),
        "difference": mean,
        "half_width": half if np.isfinite(half) else None,
        "seeds": len(pairs),
        "verdict": word,
    }


HIGH = (*BETTER_HIGH, "last_accuracy")


def merge(file: Path, found: Mapping[str, Sequence[Row]]) -> None:
    """Put the rows of a study into a file of results, in place of those that it had of the same runs."""
    try:
        before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        known: dict[str, list[Row]] = {kind: list(before.get(kind, [])) for kind in ("runs", "claims")}
        for kind, keys in {"runs": ("study", "row", "seed"), "claims": ("study", "text")}.items():
            new = {tuple(row[key] for key in keys): row for row in found[kind]}
            kept = [row for row in known[kind] if tuple(row[key] for key in keys) not in new]
            known[kind] = sorted([*kept, *new.values()], key=lambda row: str(row["study"]))
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise HeteroSelectError(f"--results: {file} is no file of results ({error}).") from error
    with for_people(file.parent):
        write_whole(file, (json.dumps(known, indent=1, allow_nan=False) + "\n").encode())
