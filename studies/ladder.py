"""Draws docs/results/ladder.svg from studies/results.json, and the table of docs/beyond.md: what each part of
heteroselect2 earns until 60 % on CIFAR-10, a line for each step of studies/parts.toml. `make results` runs it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from paper_figures import STYLE, WIDTH
from results_page import ROOT, read, replaced, rows_of, table

from heteroselect.comparison.over_seeds import number
from heteroselect.comparison.report.style import INK, QUIET, look

Row = Mapping[str, Any]

PANELS: Mapping[str, Callable[[Row], float | None]] = {
    "seconds, real payloads": lambda run: run["seconds_to_target_by_clock"]["uplink"],
    "MB sent up": lambda run: run["wire_megabytes_to_target"],
    "seconds, all charged": lambda run: run["seconds_to_target_by_clock"]["everything"],
}
DECADES = (1, 10, 100, 1_000, 10_000, 100_000)
DIGITS = {20: (1, 2, 5), 100: (1, 3)}
"""The ticks of a power of ten for which a panel has room, by how far apart its ends are."""


def steps(rows: Mapping[str, Sequence[Row]]) -> dict[str, Row]:
    """The steps of the ladder. Their names begin with a number; rows that begin with the same one vary this step, and
    come after it.

    >>> list(steps({"1 a": ["one"], "2 b": ["two"], "2 with c": ["three"], "stc": ["four"]}))
    ['1 a', '2 b']
    """
    found: dict[str, str] = {}
    for name in rows:
        if name[0].isdigit():
            found.setdefault(name.split()[0], name)
    return {name: rows[name][0] for name in found.values()}


def drawn(found: Mapping[str, Row]) -> Figure:
    """A panel for each cost, a line for each step, on logarithmic axes: further left is better."""
    figure = Figure(figsize=(WIDTH, 0.6 + 0.29 * len(found)), layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharey=True, squeeze=False)[0]
    for panel, (title, cost) in zip(panels, PANELS.items(), strict=True):
        draw(panel, title, [cost(run) for run in found.values()])
    panels[0].set_yticks(range(len(found)), list(found), fontsize=8)
    panels[0].invert_yaxis()
    return figure


def draw(panel: Axes, title: str, costs: Sequence[float | None]) -> None:
    """The costs of all steps as points, joined from each step to the next; one that never arrived says so."""
    colour = look(0).colour
    there = [(cost, place) for place, cost in enumerate(costs) if cost is not None]
    panel.plot(*zip(*there, strict=True), color=colour, lw=0.8, marker="o", ms=4.5)
    low, high = min(cost for cost, _ in there) / 1.3, max(cost for cost, _ in there) * 3.2  # room for the numbers
    for place, cost in enumerate(costs):
        text, where, ink = ("not reached", low, QUIET) if cost is None else (number(cost), cost, INK)
        panel.annotate(text, (where, place), (6, 0), textcoords="offset points", va="center", fontsize=7.5, color=ink)
    panel.set(xscale="log", xlim=(low, high), title=title)
    digits = next((these for apart, these in DIGITS.items() if high <= apart * low), (1,))
    panel.set_xticks([digit * power for power in DECADES for digit in digits if low <= digit * power <= high])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    panel.tick_params(axis="x", labelsize=7)


def ladder(rows: Mapping[str, Sequence[Row]]) -> str:
    """The table of docs/beyond.md: what each row takes to 60 %."""
    heads = ["CIFAR-10 to 60 %, seed 42", "rounds", *PANELS, "MB down"]
    lines = []
    for name, runs in rows.items():
        down = runs[0]["down_megabytes_to_target"]
        costs = [*(cost(runs[0]) for cost in PANELS.values()), down]
        cells = ["not reached" if cost is None else number(cost) for cost in costs]
        lines.append([name, str(runs[0]["rounds_to_target"] or "not reached"), *cells])
    return table(heads, lines)


def main() -> None:
    rows = rows_of(read("results"), "parts")
    found = steps(rows)
    if not found:
        print("ladder: no run has finished; it is left out.")
        return
    page = ROOT / "docs" / "beyond.md"
    page.write_text(replaced(page.read_text(encoding="utf-8"), "ladder", ladder(rows)), encoding="utf-8")
    with rc_context(STYLE):
        path = ROOT / "docs" / "results" / "ladder.svg"
        drawn(found).savefig(path, metadata={"Date": None})
    print(path)


if __name__ == "__main__":
    main()
