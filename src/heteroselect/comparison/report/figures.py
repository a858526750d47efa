"""The main pictures for a paper, with Matplotlib: each as PDF and PNG."""

import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from heteroselect.comparison.report import curves
from heteroselect.comparison.report.compared import RECONSTRUCTED, target_bars, uniform_curves
from heteroselect.comparison.report.figure import saved, written
from heteroselect.comparison.report.load import Comparison
from heteroselect.comparison.report.style import INK, QUIET, look
from heteroselect.errors import HeteroSelectError
from heteroselect.files import write_whole

ENDINGS = (".pdf", ".png")
FACTOR = 10
"""Methods that differ by more than this factor in what they send are drawn on a logarithmic axis."""
EITHER = "#7d848c"
"""Text and axes that can be read on a white page and on a dark one."""
_STROKES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
# text stays text in the PDF, so that it can be searched and set in the paper's own size
_STYLE: dict[Any, Any] = {
    "font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "pdf.fonttype": 42, "legend.frameon": False,
    "legend.fontsize": 7, "svg.hashsalt": "heteroselect",
}  # fmt: skip


_LETTERS, _LINE, _ROOM = 16, 0.15, 4
"""Of a legend: letters per inch, inches per line, and for how many lines the figures have room."""


def accuracy(comparison: Comparison) -> Figure:
    figure = Figure(figsize=(7.0, 4.6), layout="constrained")
    for panel, (axis, title) in zip(figure.subplots(2, 2, sharey=True).flat, curves.AXES.items(), strict=True):
        _bands(panel, comparison, partial(curves.accuracy, axis=axis), axis)
        panel.axhline(comparison.target, color=QUIET, lw=0.8, ls="--")
        panel.set(xlabel=title, xlim=(0, None))
        panel.yaxis.set_major_formatter(written(comparison.measure))
    figure.supylabel(_plain(f"{comparison.evaluated_on} {comparison.measure.axis}"), fontsize=8)
    return _with_legend(figure)


def bars(comparison: Comparison) -> Figure:
    height = 0.9 + 0.32 * (len(comparison.groups) + len(comparison.paper))
    figure = Figure(figsize=(7.0, height), layout="constrained")
    for panel, (axis, title) in zip(figure.subplots(1, 3, sharey=True), curves.BARS.items(), strict=True):
        found = target_bars(comparison, axis)
        for place, bar in enumerate(found):
            panel.barh(place, bar.value, color=bar.colour)
            if bar.high > bar.low:
                spread = [[bar.value - bar.low], [bar.high - bar.value]]
                panel.errorbar(bar.value, place, xerr=spread, color=INK, lw=0.8, capsize=2)
            panel.annotate(
                bar.note, (bar.high, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=6
            )
        labels = [textwrap.fill(_plain(bar.label), 26) for bar in found]
        panel.set(xlabel=title.replace(" (", "\n("), ylim=(len(found) - 0.5, -0.5), xlim=(0, None))
        panel.set_yticks(range(len(found)), labels, fontsize=7)
    return figure


def selections(comparison: Comparison) -> Figure:
    figure = Figure(figsize=(3.5, 2.6), layout="constrained")
    panel = figure.subplots()
    for index, group in enumerate(comparison.groups):
        share, style = curves.selection_histogram(group.lines, group.clients), look(index)
        edges = np.arange(len(share) + 1) - 0.5
        panel.stairs(share, edges, color=style.colour, ls=_STROKES[style.dash], fill=False, label=_plain(group.label))
        if len(comparison.groups) <= 3:  # more of them would cover each other
            panel.stairs(share, edges, color=style.colour, fill=True, alpha=0.15)
    for name, share in uniform_curves(comparison):
        panel.plot(np.arange(len(share)), share, "o--", color=INK, lw=0.8, ms=2, label=name)
    panel.set(xlabel="rounds a client took part in", ylabel="share of the clients")
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    return _with_legend(figure)


def score_parts(comparison: Comparison) -> Figure | None:
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    for place, (panel, part) in enumerate(zip(figure.subplots(2, 2, sharex=True).flat, curves.PARTS, strict=True)):
        _bands(panel, comparison, partial(curves.score_part, part=part))
        panel.set(ylabel=f"mean {part}", xlabel="round" if place >= 2 else "")
    return _with_legend(figure) if any(panel.lines for panel in figure.axes) else None


def race(comparison: Comparison) -> Figure:
    """Draw the accuracy against seconds and against the megabytes sent, as a picture of 800 pixels with a transparent
    ground, for a web page."""
    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    figure.patch.set_alpha(0)
    left, right = figure.subplots(1, 2, sharey=True)
    for panel, axis, title in (
        (left, "seconds", "simulated seconds"),
        (right, "wire_megabytes", "MB sent by clients"),
    ):
        _bands(panel, comparison, partial(curves.accuracy, axis=axis), axis, width=2.0)
        panel.axhline(comparison.target, color=EITHER, lw=1, ls="--")
        scale = "log" if axis == "wire_megabytes" and wide(comparison, axis) else "linear"
        panel.set(xscale=scale, facecolor="none", xlim=(0 if scale == "linear" else None, None))
        panel.set_xlabel(title, color=EITHER, fontsize=12)
        panel.tick_params(colors=EITHER, which="both", labelsize=11)
        for side in panel.spines.values():
            side.set_color(EITHER)
    left.xaxis.set_major_locator(MaxNLocator(5))
    right.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    left.yaxis.set_major_formatter(written(comparison.measure))
    left.set_ylabel(_plain(comparison.measure.axis), color=EITHER, fontsize=12)
    handles, labels = left.get_legend_handles_labels()
    shown = figure.legend(handles, labels, loc="outside upper left", ncols=min(4, len(labels)), fontsize=11)
    for text in shown.get_texts():
        text.set_color(EITHER)
    return figure


def wide(comparison: Comparison, axis: str) -> bool:
    """Whether methods differ so much in what they cost in all that only a logarithmic axis shows each of them."""
    totals = [curves.spent(lines, axis)[-1] for group in comparison.groups for lines in group.lines if lines]
    return bool(totals) and min(totals) > 0 and max(totals) > FACTOR * min(totals)


_FIGURES: dict[str, tuple[Callable[[Comparison], Figure | None], tuple[str, ...]]] = {
    "accuracy": (accuracy, ENDINGS),
    "to-target": (bars, ENDINGS),
    "selections": (selections, ENDINGS),
    "score-parts": (score_parts, ENDINGS),
    "race": (race, (".svg",)),
}


def names() -> list[str]:
    """Every file that `write` may write."""
    return [f"{name}{ending}" for name, (_, endings) in _FIGURES.items() for ending in endings]


def write(comparison: Comparison, folder: Path, mark: str) -> list[Path]:
    """Each picture in each format; `mark` goes into the files as their creator."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, (draw, endings) in _FIGURES.items():
            with rc_context(_STYLE):
                figure = draw(comparison)
                if figure is None:
                    continue
                if any(group.reconstruction for group in comparison.groups):
                    figure.supxlabel(RECONSTRUCTED, fontsize=6, x=0.01, ha="left")
                for ending in endings:
                    path = folder / f"{name}{ending}"
                    write_whole(path, saved(figure, ending, 300, _about(ending, mark)))
                    written.append(path)
    except OSError as error:
        raise HeteroSelectError(f"--figures: {folder} cannot be written ({error.strerror or error}).") from error
    return written


def _about(ending: str, mark: str) -> dict[str, str | None]:
    """What a file says of itself; no date, so that the same runs give the same file."""
    if ending == ".png":
        return {"Software": mark}
    return {"Creator": mark, "CreationDate" if ending == ".pdf" else "Date": None}


def _bands(
    panel: Axes,
    comparison: Comparison,
    pick: Callable[[curves.Lines], curves.Curve],
    axis: str = "rounds",
    width: float = 1.2,
) -> None:
    """Draw the mean and the seed band of each method that has one, and for which the `axis` means something."""
    for index, group in enumerate(comparison.groups):
        band, style = curves.band([pick(lines) for lines in group.lines]), look(index)
        if len(band.x) and group.counts(axis):
            stroke, marker = _STROKES[style.dash], "" if len(band.x) > 1 else "o"
            label = _plain(group.label)
            panel.plot(band.x, band.mean, color=style.colour, ls=stroke, lw=width, marker=marker, label=label)
            panel.fill_between(band.x, band.low, band.high, color=style.colour, alpha=0.16, lw=0)


def _plain(label: str) -> str:
    """A dollar is no formula, and a leading underscore does not hide a method."""
    return label.replace("$", r"\$") if not label.startswith("_") else " " + label.replace("$", r"\$")


def _with_legend(figure: Figure) -> Figure:
    """One legend above all panels, in as many columns as fit; the figure becomes higher with its lines, so that the
    panels stay as they are."""
    found: dict[str, Artist] = {}
    for panel in figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    width, height = figure.get_size_inches()
    across, gap = int(width * _LETTERS), 6  # for the line before a name and what is behind it
    labels = [textwrap.fill(label, across - gap) for label in found]
    columns = min(3, max(1, across // (max(map(len, found), default=0) + gap)))
    lines = -(-sum(1 + label.count("\n") for label in labels) // columns)
    figure.set_size_inches(width, height + _LINE * max(0, lines - _ROOM))
    figure.legend(found.values(), labels, loc="outside upper left", ncols=columns)
    return figure
