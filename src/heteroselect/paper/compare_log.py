"""A run beside the authors' own log of the same experiment: round by round, as a table and as a picture.

The two never agree to the bit (other random numbers, another library), so the question is whether they fall along
each other: accuracy, the mean loss of all clients, and the means of the score's parts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heteroselect.errors import HeteroSelectError
from heteroselect.paper.replay import read_log

Series = dict[int, float]


@dataclass(frozen=True)
class Quantity:
    """Something both sides wrote down: its name, its key in the log, how far apart the two may be, and what a round's
    line of ours says of it."""

    name: str
    key: str
    allowed: float
    of: Callable[[Mapping[str, Any]], float | None]


QUANTITIES = (
    Quantity("test accuracy", "test_acc", 0.04, lambda line: line["accuracy"]),
    Quantity("mean loss of all clients", "losses_mean", 0.1, lambda line: line["loss_mean"]),
    Quantity("diversity, mean", "score_D_mean", 0.05, lambda line: line["score_parts"].get("diversity")),
    Quantity("fairness, mean", "score_F_mean", 0.05, lambda line: line["score_parts"].get("fairness")),
    Quantity("staleness, mean", "score_St_mean", 0.05, lambda line: line["score_parts"].get("staleness")),
)


@dataclass(frozen=True)
class Row:
    """One comparison: a quantity in one round, or its mean over some."""

    quantity: str
    rounds: str
    ours: float
    theirs: float
    allowed: float

    @property
    def within(self) -> bool:
        return abs(self.ours - self.theirs) <= self.allowed


def ours(lines: Sequence[Mapping[str, Any]]) -> dict[str, Series]:
    """The quantities of a run."""
    return {q.key: {line["round"]: value for line in lines if (value := q.of(line)) is not None} for q in QUANTITIES}


def theirs(path: Path) -> dict[str, Series]:
    """What the log says of them."""
    rounds = read_log(path)["rounds"]
    try:
        return {q.key: {int(entry["round"]): float(entry[q.key]) for entry in rounds} for q in QUANTITIES}
    except (KeyError, TypeError, ValueError) as error:
        raise HeteroSelectError(f"log: {path} is not a log of the authors' format ({error}).") from error


def compare(mine: Mapping[str, Series], log: Mapping[str, Series], points: Sequence[int] = ()) -> list[Row]:
    """Accuracy, which is noisy, as its mean over the last 40 % of the shared rounds; all else at single rounds."""
    shared = sorted(set(mine["losses_mean"]) & set(log["losses_mean"]) & set(mine["test_acc"]))
    if not shared:
        raise HeteroSelectError("compare-log: the run and the log have no round in common.")
    points = list(points) or sorted({shared[len(shared) // 3], shared[2 * len(shared) // 3], shared[-1]})
    if missing := [point for point in points if point not in shared]:
        raise HeteroSelectError(
            f"--rounds: allowed are rounds that both have, from {shared[0]} to {shared[-1]}, not {missing[0]}."
        )
    last = shared[-max(1, round(0.4 * len(shared))) :]
    rows = []
    for quantity in QUANTITIES:
        a, b = mine[quantity.key], log[quantity.key]
        if quantity.key == "test_acc":
            mean = float(np.mean([a[t] for t in last])), float(np.mean([b[t] for t in last]))
            rows.append(Row(f"{quantity.name}, mean", f"{last[0]} to {last[-1]}", *mean, quantity.allowed))
        else:
            rows += [Row(quantity.name, str(t), a[t], b[t], quantity.allowed) for t in points if t in a]
    return rows


def markdown(rows: Sequence[Row]) -> str:
    lines = [
        "| quantity | round | this run | the authors' log | difference | allowed |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        mark = "" if row.within else " **beyond**"
        lines.append(
            f"| {row.quantity} | {row.rounds} | {row.ours:.3f} | {row.theirs:.3f} | "
            f"{row.ours - row.theirs:+.3f}{mark} | {row.allowed:g} |"
        )
    return "\n".join(lines) + "\n"


def draw(mine: Mapping[str, Series], logs: Mapping[str, Mapping[str, Series]], path: Path) -> None:
    """All quantities over the rounds of the run, the logs behind it in grey."""
    from matplotlib import rc_context  # it takes a second to import
    from matplotlib.figure import Figure

    from heteroselect.comparison.report.figure import OURS, STYLE, save
    from heteroselect.comparison.report.style import QUIET

    last = max(mine["test_acc"])
    with rc_context(STYLE):
        figure = Figure(figsize=(11, 2.6), layout="constrained")
        for axis, quantity in zip(figure.subplots(1, len(QUANTITIES)), QUANTITIES, strict=True):
            for style, (name, log) in zip(("-", "--", ":", "-."), logs.items(), strict=False):
                series = {t: value for t, value in log[quantity.key].items() if t <= last}
                axis.plot(list(series), list(series.values()), color=QUIET, ls=style, label=name)
            axis.plot(list(mine[quantity.key]), list(mine[quantity.key].values()), color=OURS, label="this run")
            axis.set_title(quantity.name, fontsize=9)
            axis.set_xlabel("round")
            if quantity is QUANTITIES[0]:
                axis.legend(frameon=False, fontsize=7)
        save(figure, path, "--out")
