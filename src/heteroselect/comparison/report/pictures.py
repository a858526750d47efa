"""Pictures of a comparison, with Matplotlib: as files for a paper and a web page, and as SVG in the report."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from heteroselect.comparison.figures import FIGURES, Floats, Lines
from heteroselect.comparison.report import curves
from heteroselect.comparison.report.figure import saved, written
from heteroselect.comparison.report.load import Comparison, Group
from heteroselect.comparison.report.style import COLOURS, INK, PAPER, QUIET, look
from heteroselect.errors import HeteroSelectError
from heteroselect.files import write_whole
from heteroselect.settings import PaperRow

ENDINGS = (".pdf", ".png")
RECONSTRUCTED = "* rule reconstructed from its paper's abstract"
MAPPED = 6
"""Methods of which maps of clients and rounds are drawn."""
MAPS = {"weights": "weight in the aggregate", "densities": "share of the update sent", "bandwidth_mbps": "uplink, Mb/s"}
SPEEDS = {"up_mbps": "uplink, Mb/s", "down_mbps": "downlink, Mb/s", "step_seconds": "seconds per step"}
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
    for panel, axis in zip(figure.subplots(2, 2, sharey=True).flat, curves.AXES, strict=True):
        _bands(panel, comparison, partial(curves.accuracy, axis=axis), axis)
        panel.axhline(comparison.target, color=QUIET, lw=0.8, ls="--")
        panel.set_xlabel(curves.AXES[axis])
        _axis(panel, comparison, axis)
        panel.yaxis.set_major_formatter(written(comparison.measure))
    figure.supylabel(_plain(f"{comparison.evaluated_on} {comparison.measure.axis}"), fontsize=8)
    return _with_legend(figure)


def bars(comparison: Comparison) -> Figure:
    """Draw what it takes to reach the target: the median seed with the range of the seeds, and the paper's figures."""
    labels = [group.label for group in comparison.groups] + [f"the paper: {row.source}" for row in comparison.paper]
    figure = Figure(figsize=(7.0, 0.9 + 0.32 * len(labels)), layout="constrained")
    axes = [axis for axis in curves.AXES if axis != "rounds"]
    for panel, axis in zip(figure.subplots(1, len(axes), sharey=True), axes, strict=True):
        _bars(panel, comparison, axis)
        panel.set_yticks(range(len(labels)), [textwrap.fill(_plain(label), 26) for label in labels], fontsize=7)
    return figure


def _bars(panel: Axes, comparison: Comparison, axis: str) -> None:
    found = target_bars(comparison, axis)
    ends = [end for bar in found for end in bar[:3] if end > 0]
    log = axis.endswith("megabytes") and bool(ends) and max(ends) > curves.FACTOR * min(ends)
    start = min(ends) / 2 if log else 0
    panel.set(xscale="log" if log else "linear", ylim=(len(found) - 0.5, -0.5))
    for place, (value, low, high, note) in enumerate(found):
        panel.barh(place, value, color=look(place).colour if place < len(comparison.groups) else PAPER)
        if high > low:
            panel.errorbar(value, place, xerr=[[value - low], [high - value]], color=INK, lw=0.8, capsize=2)
        at = max(high, start), place
        panel.annotate(note, at, xytext=(4, 0), textcoords="offset points", va="center", fontsize=6)
    panel.set_xlabel(textwrap.fill(FIGURES[f"{axis}_to_target"].head(), 28))
    panel.set_xlim(start, None)
    if log:
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")


def target_bars(comparison: Comparison, axis: str) -> list[tuple[float, float, float, str]]:
    """What each method takes to reach the target, then what the paper says it took: the length of a bar, the range of
    the seeds, and what its length cannot say."""
    rows, field = {row.method: row for row in comparison.table.rows}, f"{axis}_to_target"
    found = []
    for group in comparison.groups:
        row = rows[group.name]
        found.append(curves.bar_of(row.arrivals[field]) if row.counts(field) else (0.0, 0.0, 0.0, curves.FEW_BITS))
    return found + [_paper_bar(row, field) for row in comparison.paper]


def _paper_bar(row: PaperRow, field: str) -> tuple[float, float, float, str]:
    """The paper's figure to target, or why it has none; real bytes it did not count."""
    if row.rounds_to_target is None:
        return 0.0, 0.0, 0.0, "not reached"
    value = getattr(row, field, None)
    return (0.0, 0.0, 0.0, "not given") if value is None else (value, value, value, "")


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


def uniform_curves(comparison: Comparison) -> list[tuple[str, Floats]]:
    """A binomial for each different number of rounds, clients and selected clients, cut where it has died out."""
    found: dict[str, Floats] = {}
    for group in comparison.groups:
        lines = group.lines[0]
        selected = sum(len(set(line["selected"])) for line in lines) / len(lines)
        share = curves.uniform_histogram(len(lines), group.clients, selected)
        last = int(np.flatnonzero(share > 1e-4)[-1])
        found[f"even chances: Binomial({len(lines)}, {selected / group.clients:.3g})"] = share[: last + 1]
    return list(found.items())


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
    for panel, axis in ((left, "seconds"), (right, "wire_megabytes")):
        _bands(panel, comparison, partial(curves.accuracy, axis=axis), axis, width=2.0)
        panel.axhline(comparison.target, color=EITHER, lw=1, ls="--")
        panel.set_facecolor("none")
        _axis(panel, comparison, axis)
        panel.set_xlabel(curves.AXES[axis], color=EITHER, fontsize=12)
        panel.tick_params(colors=EITHER, which="both", labelsize=11)
        for side in panel.spines.values():
            side.set_color(EITHER)
    left.xaxis.set_major_locator(MaxNLocator(5))
    left.yaxis.set_major_formatter(written(comparison.measure))
    left.set_ylabel(_plain(comparison.measure.axis), color=EITHER, fontsize=12)
    handles, labels = left.get_legend_handles_labels()
    shown = figure.legend(handles, labels, loc="outside upper left", ncols=min(4, len(labels)), fontsize=11)
    for text in shown.get_texts():
        text.set_color(EITHER)
    return figure


def clients(comparison: Comparison) -> Figure:
    """Draw clients down and rounds across: who took part, how much each sent, and over which link, in the run of each
    method's lowest seed."""
    groups = comparison.groups[:MAPPED]
    figure = Figure(figsize=(9.0, 0.4 + 1.7 * len(groups)), layout="constrained")
    panels = figure.subplots(len(groups), len(MAPS), squeeze=False, sharex="row", sharey="row")
    for group, line in zip(groups, panels, strict=True):
        lines = group.lines[0]
        for panel, (field, title) in zip(line, MAPS.items(), strict=True):
            cells = curves.by_client(lines, field, group.clients)
            drawn = _map(panel, cells, group.clients, len(lines))
            figure.colorbar(drawn, ax=panel, shrink=0.8)
            panel.set_title(title, fontsize=7)
        line[0].set_ylabel(_plain(textwrap.fill(f"{group.label}, seed {group.runs[0].seed}", 26)), fontsize=7)
    return figure


def _map(panel: Axes, cells: Any, clients: int, rounds: int) -> Any:
    panel.set(xlabel="round", ylabel="client")
    extent = (0.5, rounds + 0.5, clients - 0.5, -0.5)
    return panel.imshow(cells, cmap="viridis", aspect="auto", interpolation="nearest", extent=extent)


def traffic(comparison: Comparison) -> Figure:
    """Draw the real bytes of a whole run by kind, end to end."""
    amounts = [curves.megabytes_by_kind(group.lines) for group in comparison.groups]
    return _stacked(comparison.groups, amounts, curves.TRAFFIC, "MB in the whole run, mean over seeds")


def seconds_spent(comparison: Comparison) -> Figure | None:
    """Draw the parts of a round's seconds, end to end."""
    groups = _noted(comparison)
    amounts = [curves.seconds_by_part(group.lines) for group in groups]
    return _stacked(groups, amounts, curves.SECONDS, "simulated seconds per round") if groups else None


def _stacked(
    groups: Sequence[Group], amounts: Sequence[Mapping[str, float]], names: Mapping[str, str], title: str
) -> Figure:
    """A bar per group: its amounts end to end, those that nobody has left out, and their sum."""
    figure = Figure(figsize=(7.0, 1.1 + 0.34 * len(groups)), layout="constrained")
    panel, at = figure.subplots(), np.zeros(len(groups))
    for colour, (part, name) in zip(COLOURS, names.items(), strict=False):
        widths = np.array([one[part] for one in amounts])
        if widths.any():
            panel.barh(range(len(groups)), widths, left=at, color=colour, label=name)
        at = at + widths
    for place, total in enumerate(at):
        text = f" {total:,.4g}"
        panel.annotate(text, (total, place), va="center", fontsize=7)
    panel.set(xlabel=title, ylim=(len(groups) - 0.5, -0.5))
    panel.margins(x=0.1)
    panel.set_yticks(range(len(groups)), [textwrap.fill(_plain(group.label), 26) for group in groups], fontsize=7)
    return _with_legend(figure)


def memory(comparison: Comparison) -> Figure | None:
    """Draw the norm of the error memories; None where no run recorded it."""
    return _one_panel(comparison, curves.memory_norm, "rounds", "norm of the error memory")


def _one_panel(comparison: Comparison, pick: Callable[[Lines], curves.Curve], axis: str, title: str) -> Figure | None:
    figure = Figure(figsize=(7.0, 2.8), layout="constrained")
    panel = figure.subplots()
    _bands(panel, comparison, pick, axis)
    panel.set(xlabel=curves.AXES[axis], ylabel=title, xlim=(0, None), ylim=(0, None))
    return _with_legend(figure) if panel.lines else None


def waited_for(comparison: Comparison) -> Figure | None:
    """Draw how often clients were the last, in falling order; None where nobody was waited for."""
    figure = Figure(figsize=(7.0, 2.8), layout="constrained")
    panel = figure.subplots()
    for index, group in enumerate(comparison.groups):
        count = np.sort(curves.times_waited_for(group.lines, group.clients))[::-1]
        if count.any():
            style = look(index)
            share = count / count.sum()
            panel.step(range(1, len(share) + 1), share, where="mid", color=style.colour, label=_plain(group.label))
    panel.set(xlabel="clients, those most waited for first", ylabel="share of the rounds", ylim=(0, None))
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
    return _with_legend(figure) if panel.lines else None


def speeds(comparison: Comparison) -> Figure | None:
    """Draw boxes of links and of seconds per step: the median, the middle half, and 5 to 95 % of the clients."""
    groups = _noted(comparison)
    if not groups:
        return None
    figure = Figure(figsize=(9.0, 0.9 + 0.34 * len(groups)), layout="constrained")
    for panel, (field, title) in zip(figure.subplots(1, len(SPEEDS), sharey=True), SPEEDS.items(), strict=True):
        found = [np.maximum(curves.quantiles(group.lines, field), 1e-9) for group in groups]
        keys = ("whislo", "q1", "med", "q3", "whishi")
        boxes = [{"label": _plain(group.label), **dict(zip(keys, map(float, five), strict=True))}
                 for group, five in zip(groups, found, strict=True)]  # fmt: skip
        panel.bxp(boxes, orientation="horizontal", showfliers=False, medianprops={"color": COLOURS[0], "lw": 2})
        panel.set(xlabel=title, xscale="log" if max(map(np.max, found)) > 1e-9 else "linear")
        panel.invert_yaxis()
    return figure


def available(comparison: Comparison) -> Figure | None:
    """Draw how many clients were there over time, and who they were in the first run; None where all always were."""
    groups = [
        group for group in _noted(comparison) if any(one["there"] is not None for one in curves.notes(group.lines))
    ]
    if not groups:
        return None
    figure = Figure(figsize=(9.0, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    _bands(left, comparison, curves.available, "seconds")
    left.set(xlabel=curves.AXES["seconds"], ylabel="clients available", xlim=(0, None), ylim=(0, None))
    first = _noted(comparison)[0]
    lines = first.lines[0]
    _map(right, curves.who_was_there_map(lines, first.clients), first.clients, len(lines))
    right.set_title("available in the first run", fontsize=8)
    return _with_legend(figure)


def _noted(comparison: Comparison) -> list[Group]:
    """The groups whose runs noted the world; runs of earlier versions did not."""
    return [group for group in comparison.groups if curves.notes(group.lines)]


def embedded(comparison: Comparison, mark: str) -> dict[str, bytes]:
    """Every picture of the report that this comparison has something for, as SVG."""
    makers: Sequence[Callable[[Comparison], Figure | None]] = (
        bars, score_parts, selections, clients, traffic, memory, seconds_spent, waited_for, speeds, available,
    )  # fmt: skip
    found = {}
    for make in makers:
        with rc_context(_STYLE | {"svg.fonttype": "none"}):
            figure = make(comparison)
            if figure is not None:
                found[make.__name__] = saved(figure, ".svg", 100, _about(".svg", mark))
    return found


def _axis(panel: Axes, comparison: Comparison, axis: str) -> None:
    """A logarithmic axis where methods differ by more than a factor in what they send; else one that begins at 0."""
    lines = [one for group in comparison.groups if group.counts(axis) for one in group.lines]
    if curves.wide(lines, axis):
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    else:
        panel.set_xlim(0, None)


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
    pick: Callable[[Lines], curves.Curve],
    axis: str = "rounds",
    width: float = 1.2,
) -> None:
    """Draw the mean and the seed band of each method that has one, and for which the `axis` means something."""
    for index, group in enumerate(comparison.groups):
        band, style = curves.thinned(curves.band([pick(lines) for lines in group.lines])), look(index)
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
