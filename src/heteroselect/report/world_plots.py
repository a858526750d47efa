"""The page's pictures of the world: where the seconds went, who was waited for, links and devices, and who was there.

All of it is read from `world` in the lines of rounds.jsonl; runs of earlier versions have none, and no such picture.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from heteroselect.report import curves
from heteroselect.report.curves import Floats, Lines
from heteroselect.report.load import Comparison, Group
from heteroselect.report.plots import add_bands, finished, text, wrapped
from heteroselect.report.style import COLOURS, QUIET, look
from heteroselect.world.note import who_was_there

PARTS = {
    "compute": "computing",
    "up": "sending",
    "down": "fetching",
    "waiting": "waiting for the last",
    "scoring": "scoring",
    "calibration": "calibration",
    "waited": "nobody there",
}
SPEEDS = {"up_mbps": "uplink, Mb/s", "down_mbps": "downlink, Mb/s", "step_seconds": "seconds per step"}


def seconds_by_part(runs: Sequence[Lines]) -> dict[str, float]:
    """Seconds of a round by what they went into, of the average selected client, as the mean over rounds and seeds.
    Their sum is the length of a round. What a client does after the server has stopped waiting does not count."""
    totals = dict.fromkeys(PARTS, 0.0)
    found = notes(runs)
    for note in found:
        spent = {part: np.array(note[part], float) for part in ("compute", "up", "down")}
        whole = np.maximum(sum(spent.values()), 1e-12)
        counted = np.minimum(1.0, note["training"] / whole)
        shares = {part: float((counted * one).mean()) if len(one) else 0.0 for part, one in spent.items()}
        for part, seconds in (shares | {"waiting": note["training"] - sum(shares.values())}).items():
            totals[part] += seconds
        for part in ("scoring", "calibration", "waited"):
            totals[part] += note[part]
    return {part: total / max(1, len(found)) for part, total in totals.items()}


def times_waited_for(runs: Sequence[Lines], clients: int) -> npt.NDArray[np.int64]:
    """In how many rounds each client was the last that was waited for, over all seeds."""
    count = np.zeros(clients, dtype=np.int64)
    for lines in runs:
        for line in lines:
            note = line.get("world")
            if note and note["took"]:
                took = np.array(note["took"])
                took[took > note["training"] * (1 + 1e-3)] = -1.0  # it came too late, or was not needed any more
                count[line["selected"][int(took.argmax())]] += 1
    return count


def quantiles(runs: Sequence[Lines], field: str) -> Floats:
    """The five quantiles of a field, as the mean over rounds and seeds."""
    found: Floats = np.array([note[field] for note in notes(runs)], np.float64).mean(axis=0)
    return found


def who_was_there_map(lines: Lines, clients: int) -> npt.NDArray[np.float32]:
    """1 where a client was available in a round, clients down and rounds across; NaN elsewhere."""
    cells = np.full((clients, len(lines)), np.nan, dtype=np.float32)
    for column, line in enumerate(lines):
        if line.get("world"):
            cells[who_was_there(line["world"], clients), column] = 1.0
    return cells


def notes(runs: Sequence[Lines]) -> list[Mapping[str, Any]]:
    """What the rounds of all seeds have noted."""
    return [line["world"] for lines in runs for line in lines if line.get("world")]


def seconds_spent(comparison: Comparison) -> go.Figure | None:
    """The parts of a round's seconds, stacked, for each method."""
    groups = _noted(comparison)
    figure, names = go.Figure(), [wrapped(group.label) for group in groups]
    amounts = [seconds_by_part(group.lines) for group in groups]
    for (part, title), colour in zip(PARTS.items(), COLOURS, strict=True):
        if any(one[part] for one in amounts):
            figure.add_bar(
                orientation="h", y=names, x=[one[part] for one in amounts], name=title,
                marker_color="#d0d4da" if part == "waiting" else colour, hovertemplate="%{y}<br>%{x:,.3~g} s",
            )  # fmt: skip
    figure.update_layout(barmode="stack", bargap=0.35)
    figure.update_xaxes(title_text="simulated seconds per round")
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False)
    return finished(figure, height=190 + 44 * len(names)) if figure.data else None


def waited_for(comparison: Comparison) -> go.Figure | None:
    """How often clients were the last, in falling order."""
    figure = go.Figure()
    for index, group in enumerate(comparison.groups):
        count = times_waited_for(group.lines, group.clients)
        if not count.any():
            continue
        order, style = np.argsort(-count, kind="stable"), look(index)
        figure.add_scatter(
            x=np.arange(1, len(order) + 1), y=count[order] / count.sum(), name=text(group.label), customdata=order,
            line={"color": style.colour, "dash": style.dash, "width": 2, "shape": "hvh"},
            hovertemplate="client %{customdata}: %{y:.1%} of the rounds",
        )  # fmt: skip
    figure.update_xaxes(title_text="clients, those most waited for first", rangemode="tozero")
    figure.update_yaxes(title_text="share of the rounds", tickformat=".0%", rangemode="tozero")
    return finished(figure, height=380) if figure.data else None


def speeds(comparison: Comparison) -> go.Figure | None:
    """Boxes of links and of seconds per step, for each method."""
    groups = _noted(comparison)
    if not groups:
        return None
    figure = make_subplots(rows=1, cols=len(SPEEDS), shared_yaxes=True, horizontal_spacing=0.04)
    for column, (field, title) in enumerate(SPEEDS.items(), start=1):
        for group in groups:
            low, quarter, middle, three, high = ([one] for one in quantiles(group.lines, field))
            figure.add_box(
                y=[wrapped(group.label)], lowerfence=low, q1=quarter, median=middle, q3=three, upperfence=high,
                orientation="h", showlegend=False, marker_color=look(comparison.groups.index(group)).colour,
                row=1, col=column,
            )  # fmt: skip
        figure.update_xaxes(title_text=title, type="log", row=1, col=column)
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False)
    return finished(figure, height=150 + 44 * len(groups))


def available(comparison: Comparison) -> go.Figure | None:
    """The share of the clients that were there over time, and who they were; none where everybody always was."""
    if not any(note["there"] is not None for group in comparison.groups for note in notes(group.lines)):
        return None
    first = _noted(comparison)[0]
    figure = make_subplots(rows=1, cols=2, horizontal_spacing=0.08)

    def share(lines: Lines) -> curves.Curve:
        return curves.values(lines, lambda line: (line.get("world") or {}).get("available"), "seconds")

    hover = "second %{x:,.4~g}<br>%{y} clients"
    add_bands(figure, comparison, share, {"row": 1, "col": 1}, hover, axis="seconds")
    lines = curves.thinned(first.lines[0], first.clients)
    figure.add_heatmap(
        x=[line["round"] for line in lines], z=who_was_there_map(lines, first.clients), showscale=False,
        colorscale=[[0, QUIET], [1, QUIET]], hoverongaps=False,
        hovertemplate="client %{y}, round %{x}<extra></extra>", row=1, col=2,
    )  # fmt: skip
    figure.update_xaxes(title_text="simulated seconds", row=1, col=1)
    figure.update_yaxes(title_text="clients available", rangemode="tozero", row=1, col=1)
    figure.update_xaxes(title_text="round", showgrid=False, row=1, col=2)
    figure.update_yaxes(title_text="client", showgrid=False, row=1, col=2)
    return finished(figure, height=420)


def _noted(comparison: Comparison) -> list[Group]:
    return [group for group in comparison.groups if notes(group.lines)]


def drawn(comparison: Comparison) -> dict[str, go.Figure]:
    """Every picture of the world that this comparison has something for, by the name of its section."""
    makers: Sequence[Callable[[Comparison], go.Figure | None]] = (seconds_spent, waited_for, speeds, available)
    found = {maker.__name__: maker(comparison) for maker in makers}
    return {name: figure for name, figure in found.items() if figure is not None}
