"""Draws docs/results/waiting.svg and waiting-audiomnist.svg from the runs of the studies of these names: servers that
wait and servers that do not, on one axis of simulated seconds and one of megabytes; and keeps each study's page beside
it. `make studies` runs it for MNIST.
"""

import argparse
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from paper_figures import STYLE, WIDTH
from results_page import ROOT

from heteroselect.comparison.figures import spent
from heteroselect.comparison.report.curves import AXES
from heteroselect.comparison.report.style import GRID, INK, look
from heteroselect.runs.folder import read_rounds
from heteroselect.runs.result import Line

SHOWN = {"waiting": (0.9, (84, 92.5)), "waiting-audiomnist": (0.97, (85, 99))}
"""The target of each study, and the accuracies in % that its picture goes from and to."""
POINTS = 200


def runs_of(folder: Path) -> dict[str, list[list[Line]]]:
    """The rounds of all seeds of each row."""
    places = sorted(path.parent for path in folder.glob("*/seed-*/summary.json"))
    found: dict[str, list[list[Line]]] = {}
    for place in places:
        found.setdefault(place.parent.name, []).append(read_rounds(place))
    return found


def so_far(lines: Sequence[Line], axis: str, grid: np.ndarray) -> np.ndarray:
    """The last accuracy that was measured before so much was spent: 0 before the first, and the last one when the run
    is over. So the median seed is that of all seeds, however far they are apart."""
    there = [place for place, line in enumerate(lines) if line["accuracy"] is not None]
    cost = np.asarray(spent(lines, axis))[there]
    values = np.array([0.0, *(lines[place]["accuracy"] for place in there)])
    return values[np.searchsorted(cost, grid, side="right")]


def drawn(rows: Mapping[str, Sequence[Sequence[Line]]], target: float, limits: tuple[float, float]) -> Figure:
    """The median seed of each row against seconds and against megabytes, both on logarithmic axes."""
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2, sharey=True)
    for panel, axis in zip(panels, ("seconds", "wire_megabytes"), strict=True):
        for place, (name, runs) in enumerate(rows.items()):
            costs = [np.asarray(spent(lines, axis)) for lines in runs]
            grid = np.geomspace(min(cost[0] for cost in costs), np.median([cost[-1] for cost in costs]), POINTS)
            middle = np.median([so_far(lines, axis, grid) for lines in runs], axis=0)
            style = look(place)
            panel.plot(
                grid,
                100 * middle,
                color=style.colour,
                ls={"dash": "--", "dot": ":"}.get(style.dash, "-"),
                lw=1.1,
                label=name,
            )
        panel.axhline(100 * target, color=INK, lw=0.6, ls=(0, (4, 3)))
        panel.set(xscale="log", xlabel=AXES[axis], ylim=limits)
        panel.grid(color=GRID, lw=0.6)
    panels[0].set(ylabel="test accuracy, %, median seed")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=7)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs", help="where the studies left their folders")
    folder: Path = parser.parse_args().runs
    kept = ROOT / "docs" / "results"
    for name, (target, limits) in SHOWN.items():
        rows = runs_of(folder / name)
        if not rows:
            print(f"{name}: none of its runs is there; the picture is left as it is.")
            continue
        with rc_context(STYLE):
            drawn(rows, target, limits).savefig(kept / f"{name}.svg", metadata={"Date": None})
        (kept / name).mkdir(exist_ok=True)
        shutil.copy(folder / name / "report.html", kept / name)
        print(kept / f"{name}.svg")


if __name__ == "__main__":
    main()
