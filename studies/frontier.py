"""Draws docs/results/frontier.svg and budgets.svg from studies/results.json: what each method takes to 70 % on CIFAR-10
in seconds and in megabytes, and what ours takes to 60 % with other byte budgets. A point is a run. Ours are by the
clock of real payloads; what a paper says of itself or of a rival stands as a hollow point, by its own clock and its own
count of values. `make results` runs it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ladder import steps
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import NullLocator
from matplotlib.transforms import Bbox
from paper_figures import STYLE, WIDTH
from results_page import OURS, ROOT, read, rows_of
from results_page import label as label_of

from heteroselect import methods
from heteroselect.comparison.report.style import GRID, INK, PAPER, QUIET, look

PICTURES = {
    "frontier": {"table1": "Table I's methods", "beyond": "heteroselect2"},
    "budgets": {"parts": "other methods"},
}
"""Of each picture the studies that are in it, and what their points are called."""
JOINED = "heteroselect2, by bits per coordinate"
"""The points that differ in their bits per coordinate (and, below a tenth, in the least); they are joined."""
BUDGET = "8 at "
"""How those rows of parts.toml begin that are heteroselect2 with other byte budgets; step 8 has the shipped one."""
OTHERS = {
    "0": "the paper's method",
    "1": "our recipe, nothing compressed",
    "2": "DRIVE with our recipe (lean)",
    "stc": "STC",
    "fedluar": "FedLUAR",
}
"""By their first words the rows that stand beside these; the other rows are steps between them (studies/ladder.py)."""
EARLIER = "equal weights"
"""How the rows of beyond.toml begin that are earlier versions of the method."""
PLACES = [(x, sign * y) for y in (3, 9, 18, 28, 38, 48) for sign in (1, -1) for x in (6, -6)]
"""Where the name of a point may stand, in points away from it, the nearest first."""
TICKS = (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """What one run took to the target, or what a paper says that it took."""

    name: str
    group: str
    seconds: float
    megabytes: float
    said: bool = False


def points(runs: Sequence[Row], groups: Mapping[str, str] = PICTURES["frontier"]) -> Iterator[Point]:
    """Of the runs that arrived, and of the papers beside them, each once."""
    told = set()
    for run in runs:
        for one in run["paper"]:
            took = one.get("seconds_to_target"), one.get("megabytes_to_target")
            if None not in took and took not in told:
                told.add(took)
                yield Point(one["source"], "said in papers, values only", *took, said=True)
        seconds, sent = run["seconds_to_target_by_clock"].get("uplink"), run["wire_megabytes_to_target"]
        if seconds is not None and sent is not None:
            earlier = run["row"].startswith(EARLIER)
            group = f"{groups[run['study']]}, earlier versions" if earlier else groups[run["study"]]
            yield Point(label_of(run["row"], [run]), group, seconds, sent)


def budgets(runs: Sequence[Row]) -> Iterator[Point]:
    """Of the runs to 60 % those of the method with its byte budgets, from few to many, and of other methods."""
    shipped = [name for name in steps(rows_of({"runs": runs}, "parts")) if name.startswith("8 ")]
    mine = [run for run in runs if run["row"].startswith(BUDGET) or run["row"] in shipped]
    for run in sorted(mine, key=bits):
        for point in points([run], {"parts": JOINED}):
            yield replace(point, name=f"1/{1 / bits(run):.0f} bit")
    for run in runs:
        word = run["row"].split()[0]
        for point in points([run], PICTURES["budgets"]) if word in OTHERS else ():
            yield replace(point, name=OTHERS[word])


def bits(run: Row) -> float:
    """Per coordinate, on average."""
    shipped: Any = dict(methods.get(OURS).parts())["allocate"]
    return float(run["settings"].get("method.allocate.average", shipped.average))


def drawn(found: Sequence[Point], target: str) -> Figure:
    """Seconds against megabytes, both on logarithmic axes."""
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    panel = figure.subplots()
    for place, group in enumerate(dict.fromkeys(one.group for one in found)):
        these = [one for one in found if one.group == group]
        hollow, colour = these[0].said, look(place).colour
        colour = PAPER if hollow else colour
        face = "none" if hollow else colour
        across, up = [one.seconds for one in these], [one.megabytes for one in these]
        panel.scatter(across, up, s=26, facecolors=face, edgecolors=colour, label=group, zorder=3)
        names = dict.fromkeys(one.name for one in these)
        rows = [these] if group == JOINED else [[one for one in these if one.name == name] for name in names]
        for row in rows:  # the seeds of a row lie together
            panel.plot([one.seconds for one in row], [one.megabytes for one in row], color=colour, lw=0.8, zorder=2)
    clock = "real payloads on the clock"
    panel.set(xscale="log", yscale="log", xlabel=f"simulated seconds to {target}, {clock}")
    panel.set(ylabel=f"MB sent up to {target}")
    for axis, values in (
        (panel.xaxis, [one.seconds for one in found]),
        (panel.yaxis, [one.megabytes for one in found]),
    ):
        low, high = min(values) / 1.4, max(values) * 1.8
        axis.set_ticks([tick for tick in TICKS if low <= tick <= high])
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.axes.set(**{f"{axis.axis_name}lim": (low, high)})
    panel.grid(color=GRID, lw=0.6)
    panel.legend(loc="upper left", fontsize=7)
    figure.draw_without_rendering()  # places are known from now on
    label(panel, found, canvas.get_renderer())  # type: ignore[no-untyped-call]  # Matplotlib has not typed it
    return figure


def label(panel: Axes, found: Sequence[Point], renderer: RendererAgg) -> None:
    """Name every row once, at the nearest place where the name covers no other; a line leads to one that is far off."""
    first = {one.name: one for one in reversed(found)}
    marks = [panel.transData.transform((one.seconds, one.megabytes)) for one in found]
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in marks]
    for one in sorted(first.values(), key=lambda one: (-one.megabytes, one.seconds)):
        for place in PLACES:
            text = panel.annotate(
                f"paper: {one.name}" if one.said else one.name,
                (one.seconds, one.megabytes),
                place,
                textcoords="offset points",
                ha="left" if place[0] > 0 else "right",
                fontsize=6.5,
                color=INK,
                arrowprops={"arrowstyle": "-", "lw": 0.5, "color": QUIET} if abs(place[1]) > 12 else None,
            )
            text.set_in_layout(False)  # else the axes would move again
            text.update_positions(renderer)
            box = Text.get_window_extent(text)  # without the line that leads to it
            inside = panel.bbox.contains(box.x0, box.y0) and panel.bbox.contains(box.x1, box.y1)
            if inside and not any(box.overlaps(other) for other in taken):
                break
            if place is not PLACES[-1]:
                text.remove()
        taken.append(box)


def main() -> None:
    for name, groups in PICTURES.items():
        runs = [run for run in read("results").get("runs", []) if run["study"] in groups]
        found = list(budgets(runs) if name == "budgets" else points(runs, groups))
        if not found:
            print(f"{name}: no run has finished; it is left out.")
            continue
        with rc_context(STYLE):
            figure = drawn(found, f"{100 * runs[0]['target']:.0f} %")
            path = ROOT / "docs" / "results" / f"{name}.svg"
            figure.savefig(path, metadata={"Date": None})
        print(path)


if __name__ == "__main__":
    main()
