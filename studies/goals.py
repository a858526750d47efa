"""Writes the table of docs/beyond.md that sets what was reached on CIFAR-10, seed by seed, beside what was aimed at
before, from studies/results.json. `make results` runs it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from results_page import ROOT, read, replaced, rows_of, table

from heteroselect.comparison.over_seeds import number

PAGE = ROOT / "docs" / "beyond.md"
SEEDS = (42, 43, 44)


@dataclass(frozen=True)
class Goal:
    """70 % within so many seconds, by real payloads, and so many megabytes sent up."""

    name: str
    row: str
    seconds: float
    megabytes: float


EVERY = 2
"""Rounds from one evaluation to the next, alike for every run: who looks more often arrives sooner."""
TARGET = 0.7

GOALS = (
    Goal("fast", "heteroselect2", 400, 60),
    Goal("light", "heteroselect2, light", 700, 30),
    Goal("milestone", "heteroselect2", 600, 60),
)


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(text, "goals", goals(read("results"), read("courses"))), encoding="utf-8")


def goals(results: Mapping[str, Any], courses: Mapping[str, Any]) -> str:
    """A row per goal, a column per seed, and one for the first seed on another type of CPU."""
    rows = rows_of(results, "beyond")
    lines = []
    for goal in GOALS:
        runs = {run["seed"]: run for run in rows.get(goal.row, [])}
        aim = f"{goal.seconds:.0f} s, {goal.megabytes:.0f} MB"
        again = next((alike(run, courses) for run in rows.get(f"{goal.row}, on another CPU", [])), None)
        cells = [reached(goal, run) for run in (*(runs.get(seed) for seed in SEEDS), again)]
        lines.append([goal.name, f"`{goal.row}`", aim, *cells])
    heads = [*(f"seed {seed}" for seed in SEEDS), f"seed {SEEDS[0]}, another CPU"]
    return table(["goal", "row", "70 % within", *heads], lines)


def alike(run: Mapping[str, Any], courses: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the run as it arrives if it is evaluated every second round, from its rounds where it was evaluated in
    others, too."""
    if run["settings"]["evaluate_every"] == EVERY:
        return run
    lines = courses["runs"][f"{run['row']}, seed-{run['seed']}"]
    first = next((line for line in lines if line[0] % EVERY == 0 and line[1] >= TARGET), None)
    seconds, sent = (courses["columns"].index(name) for name in ("seconds, real payloads", "MB up"))
    taken = (None, None) if first is None else (first[seconds], first[sent])
    return {**run, **dict(zip(("seconds_to_target", "wire_megabytes_to_target"), taken, strict=True))}


def reached(goal: Goal, run: Mapping[str, Any] | None) -> str:
    """What a run took, and by how much it missed the goal; in bold where it did not miss it.

    >>> run = {"seconds_to_target": 446.0, "wire_megabytes_to_target": 48.8}
    >>> reached(Goal("fast", "x", 400, 60), run), reached(Goal("slow", "x", 600, 60), run)
    ('446.0 s, 48.8 MB: 46.0 s too many', '**446.0 s, 48.8 MB**')
    """
    if run is None:
        return "not run"
    took, sent = run["seconds_to_target"], run["wire_megabytes_to_target"]
    if took is None:
        return "70 % not reached"
    text = f"{number(took)} s, {number(sent)} MB"
    over = [f"{number(took - goal.seconds)} s"] if took > goal.seconds else []
    over += [f"{number(sent - goal.megabytes)} MB"] if sent > goal.megabytes else []
    return f"{text}: {' and '.join(over)} too many" if over else f"**{text}**"


if __name__ == "__main__":
    main()
