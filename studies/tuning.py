"""The section of docs/results.md on equal tuning, from what `make compare` and `make tune` left in docs/results."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from scipy import stats

from heteroselect.comparison.over_seeds import interval, spread
from heteroselect.comparison.table import shown

Row = Mapping[str, Any]
KEY = "last_accuracy"


def section(results: Path) -> str:
    """Default against tuned for each method, and what that does to the ranking; nothing where it was not run yet."""
    files = [results / "compare" / "compare.json", results / "tuned" / "compare.json", results / "tuned" / "tune.json"]
    if not all(file.exists() for file in files):
        return ""
    default, tuned, trials = (json.loads(file.read_text()) for file in files)
    before, after = (_by_method(found["table"]) for found in (default, tuned))
    names = [name for name in after if name in before]
    heads = ["", "default, %", "tuned, %", "change, points", "rank", "settings that won"]
    lines = [_line(name, before, after, trials["methods"][name]) for name in names]
    return "\n\n".join(
        [
            "## Equal tuning on MNIST",
            _said(trials),
            _table(heads, lines),
            _sentence(names, before, after),
        ]
    )


def _by_method(table: Sequence[Row]) -> dict[str, tuple[int, Row]]:
    """Each row with its rank; the tables are ranked by the final accuracy."""
    return {row["method"]: (place, row) for place, row in enumerate(table, start=1)}


def _said(trials: Row) -> str:
    count = len(next(iter(trials["methods"].values()))["trials"])
    seeds = " and ".join(map(str, trials["seeds"]))
    points = f"{count - 1} point{'s' * (count > 2)}"
    tuned = [len({key for trial in one["trials"] for key in trial["settings"]}) for one in trials["methods"].values()]
    spread_over = f" Equal trials are spread over unequally many settings: {min(tuned)} to {max(tuned)} per method."
    return (
        f"Each method had {count} trials, its default and {points} of its ranges, on validation examples with the "
        f"seeds {seeds}; what was best there was compared on the test part with the seeds of the comparison "
        "(`make tune`; [the table](tuned/compare.md), beside which the settings lie, "
        "[the trials](tuned/tune.html), [the comparison](tuned/report.html)). "
        "Changes are paired by seed, with 95 % intervals; ≈ marks what cannot be told apart from zero."
        + (spread_over if min(tuned) < max(tuned) else "")
    )


def _line(name: str, before: Row, after: Row, trials: Row) -> list[str]:
    (was, default), (now, tuned) = before[name], after[name]
    settings = trials["trials"][trials["best"]]["settings"]
    won = ", ".join(f"`{key.removeprefix('method.')}` {_short(value)}" for key, value in settings.items())
    pair = [spread(row["figures"][KEY], "%") for row in (default, tuned)]
    label = name + ("*" if default["reconstruction"] else "")
    return [f"`{label}`", *pair, _change(default, tuned), f"{was} → {now}", won or "those of the default"]


def _change(default: Row, tuned: Row) -> str:
    found = interval([new - old for old, new in zip(default["figures"][KEY], tuned["figures"][KEY], strict=True)])
    return "" if found is None else shown(found, 100)


def _sentence(names: Sequence[str], before: Row, after: Row) -> str:
    """What changed in the ranking."""
    ranks = [(before[name][0], after[name][0]) for name in names]
    moved = max(names, key=lambda name: abs(before[name][0] - after[name][0]))
    same = stats.kendalltau(*zip(*ranks, strict=True)).statistic
    first = [next(name for name in names if found[name][0] == 1) for found in (before, after)]
    gaps = [_gap(found, names) for found in (before, after)]
    kept = f"`{first[0]}` stays first" if first[0] == first[1] else f"`{first[1]}` is first where `{first[0]}` was"
    return (
        f"The two rankings have a rank correlation (Kendall's τ) of {same:.2f}: {kept}, and `{moved}` moves furthest, "
        f"from {before[moved][0]} to {after[moved][0]}. From the first to the last it is {gaps[0]:.2f} points by the "
        f"defaults and {gaps[1]:.2f} points tuned."
    )


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _gap(found: Row, names: Sequence[str]) -> float:
    means = [fmean(found[name][1]["figures"][KEY]) for name in names]
    return 100 * (max(means) - min(means))


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    parts = [heads, ["---", *["---:"] * (len(heads) - 2), "---"], *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in parts)
