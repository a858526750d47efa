"""The page's charts. What they show is computed in curves.py; here it gets axes and colours."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from heteroselect.comparison.report import curves
from heteroselect.comparison.report.compared import target_bars, uniform_curves
from heteroselect.comparison.report.lines import Lines, Panel, Series
from heteroselect.comparison.report.load import Comparison
from heteroselect.comparison.report.maps import Map, Maps
from heteroselect.comparison.report.rows import Mark, Row, RowPanel, Rows, stacked
from heteroselect.comparison.report.scale import Scale
from heteroselect.comparison.report.style import look

MAPS = {
    "weights": ("who was selected: weight", "weight"),
    "densities": ("density of the update", "density"),
    "bandwidth_mbps": ("uplink, Mb/s", "uplink (Mb/s)"),
}


GRID = 100
"""Points at which the seeds of a method are read where they share none, such as along seconds."""


class Chart(Protocol):
    def html(self) -> str: ...


def accuracy(comparison: Comparison) -> Lines:
    """The metric against rounds, seconds and MB; one legend for all four panels, and one scale of the metric."""
    measure, target = comparison.measure, comparison.target
    found = {axis: bands(comparison, partial(curves.accuracy, axis=axis), axis) for axis in curves.AXES}
    every = [edge for series in found.values() for edge in heights(series)]
    percent = measure.unit == "%"
    y = Scale.over([*every, target], margin=0.03, percent=percent, unit="" if percent else measure.unit)
    title = f"{comparison.evaluated_on} {measure.axis}"
    rule = target, f"target {measure.short(target)}"
    return Lines(
        tuple(
            Panel(name, title, ends(found[axis]), y, found[axis], axis == "rounds", rule)
            for axis, name in curves.AXES.items()
        )
    )


def bars(comparison: Comparison) -> Rows:
    """The paper's figure 1: what it takes to reach the target, and the paper's own rows below ours."""
    return Rows(tuple(_to_target(comparison, axis, title) for axis, title in curves.BARS.items()))


def _to_target(comparison: Comparison, axis: str, title: str) -> RowPanel:
    rows = []
    found = target_bars(comparison, axis)
    for index, bar in enumerate(found):
        css = look(index).css if index < len(comparison.groups) else "paper"
        marks, text, note = [], "", bar.note
        if bar.value:
            text, low, high = (_amount(one) for one in (bar.value, bar.low, bar.high))
            marks = [Mark("bar", 0, bar.value, css)]
            if bar.high > bar.low:
                marks.append(Mark("whisker", bar.low, bar.high, says=f"from {low} to {high}"))
                note = note or f"{low} – {high}"
        rows.append(Row(bar.label, tuple(marks), text, note))
    return RowPanel(title, Scale.over([bar.high for bar in found], zero=True), tuple(rows))


def _amount(value: float) -> str:
    return f"{value:,.{2 if value < 100 else 0}f}"


def score_parts(comparison: Comparison) -> Lines | None:
    """Each part of the score in a panel of its own; none where no method scores."""
    panels = []
    for part in curves.PARTS:
        series = bands(comparison, partial(curves.score_part, part=part))
        panels.append(Panel("round", f"mean {part}", ends(series), upright(series), series, whole=True))
    return Lines(tuple(panels)) if any(panel.series for panel in panels) else None


def selections(comparison: Comparison) -> Lines:
    """The paper's figure 6: how often clients took part, against even chances."""
    series = []
    filled = len(comparison.groups) <= 3  # more of them would cover each other
    for index, group in enumerate(comparison.groups):
        share = curves.selection_histogram(group.lines, group.clients)
        area = (np.zeros(len(share)), share) if filled else None
        css = look(index).css
        series.append(Series(index, group.label, css, np.arange(len(share), dtype=np.float64), share, area, steps=True))
    for name, share in uniform_curves(comparison):
        series.append(Series(len(series), name, "ink dash", np.arange(len(share), dtype=np.float64), share, dots=True))
    longest = max(len(one.x) for one in series)
    x = Scale.over([0, longest - 0.5])
    y = upright(series, zero=True, percent=True)
    return Lines((Panel("rounds a client took part in", "share of the clients", x, y, tuple(series), whole=True),), 1)


def clients(comparison: Comparison) -> Maps:
    """Clients down, rounds across: who took part, how much each sent, over which link. One run at a time."""
    choices = {}
    for group in comparison.groups:
        lines = group.lines[0]
        shared = curves.per_cell(group.clients), curves.per_cell(len(lines))
        choices[f"{group.label}, seed {group.runs[0].summary['seed']}"] = [
            Map(title, curves.by_client(lines, field, group.clients), says, shared)
            for field, (title, says) in MAPS.items()
        ]
    return Maps(choices)


def traffic(comparison: Comparison) -> Rows:
    """Real bytes of a whole run by kind, stacked."""
    amounts = [curves.megabytes_by_kind(group.lines) for group in comparison.groups]
    labels = [group.label for group in comparison.groups]
    return stacked(labels, amounts, curves.KINDS, "MB in the whole run (mean over seeds)", "MB")


def memory(comparison: Comparison) -> Lines | None:
    """The norm of the error memories; none where no run recorded it."""
    series = bands(comparison, curves.memory_norm)
    if not series:
        return None
    y = upright(series, zero=True)
    return Lines((Panel("round", "norm of the error memory", ends(series), y, series, whole=True),), 1)


def bands(
    comparison: Comparison, pick: Callable[[curves.Lines], curves.Curve], axis: str = "rounds"
) -> tuple[Series, ...]:
    """Per method a mean line and, where there are several seeds, the area between the lowest and the highest; none of
    a method for which the `axis` means nothing."""
    series = []
    for index, group in enumerate(comparison.groups):
        band = curves.band([pick(lines) for lines in group.lines], GRID)
        if len(band.x) and group.counts(axis):
            series.append(Series.of(index, group.label, look(index), band, area=len(group.runs) > 1))
    return tuple(series)


def heights(series: Sequence[Series]) -> list[float]:
    """The lowest and the highest value of each."""
    edges = [edge for one in series for edge in (one.y, *(one.area or ()))]
    return [float(find(edge)) for edge in edges for find in (np.min, np.max)]


def upright(series: Sequence[Series], *, zero: bool = False, percent: bool = False) -> Scale:
    """The scale of their heights."""
    return Scale.over(heights(series), zero=zero, margin=0.04, percent=percent)


def ends(series: Sequence[Series]) -> Scale:
    """The scale of what they are drawn against, from 0."""
    return Scale.over([float(one.x[-1]) for one in series], zero=True)


def drawn(comparison: Comparison) -> dict[str, Chart]:
    """Every chart that this comparison has something for, by the name of its section."""
    makers: Sequence[Callable[[Comparison], Chart | None]] = (
        accuracy, bars, score_parts, selections, clients, traffic, memory,
    )  # fmt: skip
    found = {maker.__name__: maker(comparison) for maker in makers}
    return {name: chart for name, chart in found.items() if chart is not None}
