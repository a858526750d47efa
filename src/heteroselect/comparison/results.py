"""What a study gave, as rows of a small file: each run beside the figures of a paper, with a verdict; and its claims.

A row is **reproduced** where the spread of our seeds and that of the paper's figures overlap, **close** where they are
less than a tenth apart (accuracies: one point), and **different** otherwise. A claim says that one row is better than
another: it **holds** where the 95 % interval of the paired differences is on its side of zero, is **refuted** where it
is on the other side, and is **inconclusive** where the interval has zero in it. What it costs to reach a target is
compared by its ratio (differences of logarithms): seeds may be a factor apart, and the slowest is not to decide alone.
A claim about a cost may name a factor, `times`, beside which the ratio is judged instead of beside 1.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from heteroselect.comparison.figures import figures_of
from heteroselect.comparison.grid import Cell
from heteroselect.comparison.over_seeds import interval, number
from heteroselect.comparison.study import ClaimTable, Planned, Study
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
HIGH = (*BETTER_HIGH, "last_accuracy")


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
    claims = [claimed for one in study.claim if (claimed := judge(name, one, rows))]
    return {"runs": rows, "claims": claims}


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


def judge(study: str, claim: ClaimTable, rows: Sequence[Row]) -> Row | None:
    """Whether `claim.better` is better than `claim.than`, by differences paired by seed; None where they share no seed.
    A cost is judged beside `claim.times` that of the other.

    A seed that never reaches the target has no difference to give, and is not as good as any that does: then a claim
    holds, or is refuted, only where all seeds of one row reach the target and none of the other, and names no factor.
    """
    others = {row["seed"]: row[claim.figure] for row in rows if row["row"] == claim.than}
    mine = {row["seed"]: row[claim.figure] for row in rows if row["row"] == claim.better and row["seed"] in others}
    if not mine:
        return None
    high = claim.figure in HIGH
    scale = float if high else math.log
    reached = [sum(values[seed] is not None for seed in mine) for values in (mine, others)]
    whole = reached == [len(mine), len(mine)]
    differences = [scale(mine[seed]) - scale(others[seed]) for seed in mine] if whole else []
    found = interval(differences)
    return {
        "study": study,
        **claim.model_dump(exclude={"times"} if claim.times == 1 else None),
        "by": "difference" if high else "ratio",
        "change": found and _unscaled(found.mean, high),
        "interval": found and {**asdict(found), "low": _unscaled(found.low, high), "high": _unscaled(found.high, high)},
        "seeds": len(mine),
        "reached": reached,
        "verdict": _word(claim, differences) if found else _word_of_arrivals(claim, reached, len(mine)),
    }


def _word(claim: ClaimTable, differences: Sequence[float]) -> str:
    """By the interval of the differences; those of a cost are judged beside `claim.times`."""
    found = interval([one - math.log(claim.times) for one in differences])
    if found is None or not found.apart:
        return "inconclusive"
    return "holds" if (found.mean > 0) is (claim.figure in HIGH) else "refuted"


def _word_of_arrivals(claim: ClaimTable, reached: Sequence[int], seeds: int) -> str:
    """Where some seeds never arrive: of a cost that is not known no part is known, either."""
    words = {(seeds, 0): "holds", (0, seeds): "refuted"} if claim.times == 1 else {}
    return words.get((reached[0], reached[1]), "inconclusive")


def _unscaled(value: float | None, high: bool) -> float | None:
    """A difference as it is, and one of logarithms as a ratio."""
    return value if high or value is None else math.exp(value)


def judged_again(rows: Sequence[Row], claims: Sequence[Row]) -> list[Row]:
    """The same claims, judged by the rows of a file of results."""
    found = []
    for one in claims:
        claim = ClaimTable.model_validate({key: one[key] for key in ClaimTable.model_fields if key in one})
        found.append(judge(one["study"], claim, [row for row in rows if row["study"] == one["study"]]))
    return [one for one in found if one is not None]


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


NAMES = {"rounds_to_target": "rounds", "seconds_to_target": "seconds", "all_megabytes_to_target": "MB in all"}


def change(claim: Mapping[str, Any]) -> str:
    """What `better` is beside `than`, with its 95 % interval: by so many points, or so many times the cost."""
    if claim["change"] is None:
        return f"target reached by {claim['reached'][0]} and {claim['reached'][1]} of {claim['seeds']} seeds"
    low, high = (claim["interval"][end] for end in ("low", "high"))
    if claim["by"] == "ratio":
        between = "" if low is None else f" [{low:.2f}, {high:.2f}]"
        return f"{claim['change']:.2f}{between} times the {NAMES.get(claim['figure'], 'MB')}"
    if low is None:
        between = ""
    elif claim["interval"]["kind"].endswith("bootstrap"):
        between = f" [{100 * low:+.2f}, {100 * high:+.2f}]"
    else:
        between = f" ± {100 * (high - low) / 2:.2f}"
    return f"{100 * claim['change']:+.2f}{between} points"


def sentence(claim: Mapping[str, Any]) -> str:
    """A claim with its verdict, and the difference that it goes by."""
    return f"{claim['verdict']}: {claim['text']} ({claim['better']} beside {claim['than']}: {change(claim)})"


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
