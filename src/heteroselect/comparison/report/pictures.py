"""Pictures of a comparison, with Matplotlib: as files for a paper and a web page, and as SVG in the report."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from heteroselect.comparison.figures import FIGURES, Floats, Lines
from heteroselect.comparison.over_seeds import Arrivals
from heteroselect.comparison.report import curves
from heteroselect.comparison.report.figure import STYLE, plain, save, saved, written
from heteroselect.comparison.report.load import Comparison, Group, Run
from heteroselect.comparison.report.style import COLOURS, INK, PAPER, QUIET, look
from heteroselect.errors import HeteroSelectError
from heteroselect.files import write_whole
from heteroselect.settings import PaperRow

ENDINGS, FORMATS = (".pdf", ".png"), (".png", ".svg", ".pdf")
RECONSTRUCTED = "* rule reconstructed from its paper's abstract"
MAPPED = 6
"""Methods of which maps of clients and rounds are drawn."""
MAPS = {"weights": "weight in the aggregate", "densities": "share of the update sent", "bandwidth_mbps": "uplink, Mb/s"}
SPEEDS = {"up_mbps": "uplink, Mb/s", "down_mbps": "downlink, Mb/s", "step_seconds": "seconds per step"}
BOX = ("whislo", "q1", "med", "q3", "whishi")
"""Matplotlib's names of five quantiles."""
# text stays text in the PDF, so that it can be searched and set in the paper's own size
_STYLE: dict[Any, Any] = STYLE | {
    "font.size": 8, "pdf.fonttype": 42, "legend.frameon": False, "legend.fontsize": 7, "lines.linewidth": 1.2,
}  # fmt: skip
_EITHER = "#7d848c"  # text and axes that can be read on a white page and on a dark one
_RACE: dict[Any, Any] = _STYLE | {
    "figure.facecolor": "none", "axes.facecolor": "none", "axes.edgecolor": _EITHER, "axes.labelcolor": _EITHER,
    "xtick.color": _EITHER, "ytick.color": _EITHER, "text.color": _EITHER, "lines.linewidth": 2.0, "font.size": 11,
    "legend.fontsize": 11,
}  # fmt: skip
_LETTERS, _LINE, _ROOM = 16, 0.15, 4
"""Of a legend: letters per inch, inches per line, and for how many lines the figures have room."""


def draw_run(summary: Mapping[str, Any], rounds: Lines, paper: Sequence[PaperRow], path: Path) -> None:
    """Write the accuracy of one run with the paper's mark; the ending of `path` is the format."""
    if path.suffix.lower() not in FORMATS:
        found = path.suffix or path.name
        raise HeteroSelectError(f"--figure: allowed endings are {', '.join(FORMATS)}, not {found!r}.")
    with rc_context(_STYLE):
        save(of_run(summary, rounds, paper), path, "--figure")


def of_run(summary: Mapping[str, Any], rounds: Lines, paper: Sequence[PaperRow]) -> Figure:
    name = f"{summary.get('title', summary['method'])} on {summary['dataset']}, seed {summary['seed']}"
    run = Run(Path(), {}, "", summary, [dict(line) for line in rounds], paper)
    return accuracy(Comparison((Group(name, (run,)),), tuple(paper), ()))


def accuracy(comparison: Comparison) -> Figure:
    figure, panels = _panels(7.0, 4.6, 2, 2, sharey=True)
    _accuracies(comparison, dict(zip(curves.AXES, panels, strict=True)))
    figure.supylabel(plain(comparison.axis), fontsize=8)
    return _with_legend(figure)


def race(comparison: Comparison) -> Figure:
    """Draw the accuracy against seconds and against the megabytes sent, 800 pixels wide, for a web page."""
    with rc_context(_RACE):
        figure, (left, right) = _panels(8.0, 3.4, 1, 2, sharey=True)
        _accuracies(comparison, {"seconds": left, "wire_megabytes": right})
        left.set_ylabel(plain(comparison.measure.axis))
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=min(4, len(labels)))
    return figure


def _accuracies(comparison: Comparison, panels: Mapping[str, Axes]) -> None:
    """Draw the metric against each of these costs, from 0, or on a logarithmic axis where methods differ much."""
    for axis, panel in panels.items():
        _bands(panel, comparison, partial(curves.accuracy, axis=axis), axis)
        panel.axhline(comparison.target, color=QUIET, lw=0.8, ls="--")
        reached = getattr(comparison.paper[0], f"{axis}_to_target", None) if comparison.paper else None
        if reached is not None and len(comparison.groups) == 1:
            panel.plot(reached, comparison.target, "*", ms=9, color=INK, label="the paper")
        panel.set_xlabel(curves.AXES[axis])
        panel.yaxis.set_major_formatter(written(comparison.measure))
        if comparison.wide(axis):
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        else:
            panel.xaxis.set_major_locator(MaxNLocator(5, integer=axis == "rounds"))
            panel.set_xlim(0, None)


def bars(comparison: Comparison) -> Figure:
    """Draw what it takes to reach the target: the median seed with the range of the seeds, and the paper's figures."""
    labels = [group.label for group in comparison.groups] + [f"the paper: {row.source}" for row in comparison.paper]
    axes = [axis for axis in curves.AXES if axis != "rounds"]
    figure, panels = _panels(7.0, 0.9 + 0.32 * len(labels), 1, len(axes), sharey=True)
    for panel, axis in zip(panels, axes, strict=True):
        _bars(panel, comparison, axis)
        panel.set_yticks(range(len(labels)), [textwrap.fill(plain(label), 26) for label in labels], fontsize=7)
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
    for paper in comparison.paper:
        value = getattr(paper, field, None)
        given = (
            value is not None or paper.rounds_to_target is None
        )  # the paper never reached it; real bytes it gives none
        found.append(curves.bar_of(Arrivals((value,), (None,))) if given else (0.0, 0.0, 0.0, "not given"))
    return found


def selections(comparison: Comparison) -> Figure:
    figure, (panel,) = _panels(3.5, 2.6)
    for index, group in enumerate(comparison.groups):
        share, style = curves.selection_histogram(group.lines, group.clients), look(index)
        edges = np.arange(len(share) + 1) - 0.5
        panel.stairs(share, edges, **style.matplotlib, lw=1, label=plain(group.label))
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
    figure, panels = _panels(7.0, 4.0, 2, 2, sharex=True)
    for panel, part in zip(panels, curves.PARTS, strict=True):
        _bands(panel, comparison, partial(curves.score_part, part=part))
        panel.set_ylabel(f"mean {part}")
    for panel in panels[2:]:
        panel.set_xlabel("round")
    return _with_legend(figure) if any(panel.lines for panel in panels) else None


def clients(comparison: Comparison) -> Figure:
    """Draw clients down and rounds across: who took part, how much each sent, and over which link, in the run of each
    method's lowest seed."""
    groups = comparison.groups[:MAPPED]
    figure, panels = _panels(9.0, 0.4 + 1.7 * len(groups), len(groups), len(MAPS), sharex="row", sharey="row")
    for panel, (group, (field, title)) in zip(panels, product(groups, MAPS.items()), strict=True):
        lines = group.lines[0]
        drawn = _map(panel, curves.by_client(lines, field, group.clients), group.clients, len(lines))
        figure.colorbar(drawn, ax=panel, shrink=0.8)
        panel.set_title(title, fontsize=7)
        if field == "weights":
            panel.set_ylabel(plain(textwrap.fill(f"{group.label}, seed {group.runs[0].seed}", 26)), fontsize=7)
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
    figure, (panel,) = _panels(7.0, 1.1 + 0.34 * len(groups))
    at = np.zeros(len(groups))
    for colour, (part, name) in zip(COLOURS, names.items(), strict=False):
        widths = np.array([one[part] for one in amounts])
        if widths.any():
            panel.barh(range(len(groups)), widths, left=at, color=colour, label=name)
        at = at + widths
    for place, total in enumerate(at):
        panel.annotate(f" {total:,.4g}", (total, place), va="center", fontsize=7)
    panel.set(xlabel=title, ylim=(len(groups) - 0.5, -0.5))
    panel.margins(x=0.1)
    panel.set_yticks(range(len(groups)), [textwrap.fill(plain(group.label), 26) for group in groups], fontsize=7)
    return _with_legend(figure)


def memory(comparison: Comparison) -> Figure | None:
    """Draw the norm of the error memories; None where no run recorded it."""
    figure, (panel,) = _panels(7.0, 2.8)
    _bands(panel, comparison, partial(curves.values, pick=lambda line: line.get("memory_norm")))
    panel.set(xlabel="round", ylabel="norm of the error memory", xlim=(0, None), ylim=(0, None))
    return _with_legend(figure) if panel.lines else None


def waited_for(comparison: Comparison) -> Figure | None:
    """Draw how often clients were the last, in falling order; None where nobody was waited for."""
    figure, (panel,) = _panels(7.0, 2.8)
    for index, group in enumerate(comparison.groups):
        count = np.sort(curves.times_waited_for(group.lines, group.clients))[::-1]
        if count.any():
            share, style = count / count.sum(), look(index).matplotlib
            panel.step(range(1, len(share) + 1), share, where="mid", **style, label=plain(group.label))
    panel.set(xlabel="clients, those most waited for first", ylabel="share of the rounds", ylim=(0, None))
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
    return _with_legend(figure) if panel.lines else None


def speeds(comparison: Comparison) -> Figure | None:
    """Draw boxes of links and of seconds per step: the median, the middle half, and 5 to 95 % of the clients."""
    groups = _noted(comparison)
    if not groups:
        return None
    figure, panels = _panels(9.0, 0.9 + 0.34 * len(groups), 1, len(SPEEDS), sharey=True)
    for panel, (field, title) in zip(panels, SPEEDS.items(), strict=True):
        boxes = []
        for group in groups:
            five = np.maximum(curves.quantiles(group.lines, field), 1e-9)
            boxes.append({"label": plain(group.label)} | dict(zip(BOX, five.tolist(), strict=True)))
        panel.bxp(boxes, orientation="horizontal", showfliers=False, medianprops={"color": COLOURS[0], "lw": 2})
        panel.set(xlabel=title, xscale="log" if max(box["whishi"] for box in boxes) > 1e-9 else "linear")
        panel.invert_yaxis()
    return figure


def available(comparison: Comparison) -> Figure | None:
    """Draw how many clients were there over time, and who they were in the first run; None where all always were."""
    groups = _noted(comparison)
    if not any(note["there"] is not None for group in groups for note in curves.notes(group.lines)):
        return None
    figure, (left, right) = _panels(9.0, 3.0, 1, 2)
    present = partial(curves.values, pick=lambda line: (line.get("world") or {}).get("available"), axis="seconds")
    _bands(left, comparison, present, "seconds")
    left.set(xlabel=curves.AXES["seconds"], ylabel="clients available", xlim=(0, None), ylim=(0, None))
    lines, clients = groups[0].lines[0], groups[0].clients
    _map(right, curves.who_was_there_map(lines, clients), clients, len(lines))
    right.set_title("available in the first run", fontsize=8)
    return _with_legend(figure)


def _noted(comparison: Comparison) -> list[Group]:
    """The groups whose runs noted the world; runs of earlier versions did not."""
    return [group for group in comparison.groups if curves.notes(group.lines)]


_OF_A_PAGE: tuple[Callable[[Comparison], Figure | None], ...] = (
    accuracy, bars, score_parts, selections, clients, traffic, memory, seconds_spent, waited_for, speeds, available,
)  # fmt: skip


def embedded(comparison: Comparison) -> dict[str, bytes]:
    """Every picture of the page that this comparison has something for, as SVG; the accuracy, which readers with a
    script do not see, as the smaller PNG."""
    found = {}
    for draw in _OF_A_PAGE:
        with rc_context(_STYLE | {"svg.fonttype": "none"}):
            if figure := draw(comparison):
                found[draw.__name__] = saved(figure, ".png" if draw is accuracy else ".svg", 100)
    return found


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


def write(comparison: Comparison, folder: Path) -> list[Path]:
    """Each picture in each format."""
    paths = []
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
                    write_whole(path, saved(figure, ending, 300))
                    paths.append(path)
    except OSError as error:
        raise HeteroSelectError(f"--figures: {folder} cannot be written ({error.strerror or error}).") from error
    return paths


def _panels(width: float, height: float, down: int = 1, across: int = 1, **shared: Any) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(down, across, squeeze=False, **shared).flat)


def _bands(panel: Axes, comparison: Comparison, pick: Callable[[Lines], curves.Curve], axis: str = "rounds") -> None:
    """Draw the mean and the seed band of each method that has one, and for which the `axis` means something."""
    for place, group, band in comparison.bands(pick, axis):
        marker, style = "" if len(band.x) > 1 else "o", look(place)
        panel.plot(band.x, band.mean, **style.matplotlib, marker=marker, label=plain(group.label))
        panel.fill_between(band.x, band.low, band.high, color=style.colour, alpha=0.16, lw=0)


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
