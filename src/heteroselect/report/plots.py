"""The page's pictures, with Plotly. What they show is computed in curves.py; here it gets axes and colours."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from heteroselect.report import curves
from heteroselect.report.compared import target_bars, uniform_curves
from heteroselect.report.load import Comparison
from heteroselect.report.style import FONT, GRID, INK, KIND_COLOURS, QUIET, look

# pale ends would be lost on white
_BLUES = [[0, "#9ecae1"], [1, "#08306b"]]
MAPS = {
    "weights": ("who was selected: weight", _BLUES, "weight %{z:.3f}"),
    "densities": ("density of the update", "Viridis", "density %{z:.3f}"),
    "bandwidth_mbps": ("uplink, Mb/s", "Cividis", "%{z:.2f} Mb/s"),
}


def text(label: str) -> str:
    """Plotly reads a few HTML tags in its labels; a name is never one. It does not know the entity of a quote."""
    return escape(label, quote=False)


def accuracy(comparison: Comparison) -> go.Figure:
    """The metric against rounds, seconds and MB; one legend for all four panels."""
    measure = comparison.measure
    number, ticks = ("%{y:.2%}", ".4~%") if measure.unit == "%" else (f"%{{y:.4~g}} {text(measure.unit)}", "")
    figure = make_subplots(rows=2, cols=2, shared_yaxes=True, horizontal_spacing=0.04, vertical_spacing=0.15)
    for cell, (axis, title) in enumerate(curves.AXES.items()):
        place = {"row": cell // 2 + 1, "col": cell % 2 + 1}
        hover = f"{title} %{{x:,.4~g}}<br>{text(measure.name)} {number}"
        pick = partial(curves.accuracy, axis=axis)
        add_bands(figure, comparison, pick, place, hover, legend=cell == 0, axis=axis)
        figure.add_hline(y=comparison.target, line={"color": QUIET, "width": 1, "dash": "dash"}, **place)
        figure.update_xaxes(title_text=title, rangemode="tozero", **place)
    for row in (1, 2):
        figure.update_yaxes(title_text=text(f"{comparison.evaluated_on} {measure.axis}"), row=row, col=1)
    figure.update_yaxes(tickformat=ticks, matches="y")
    figure.add_annotation(
        text=text(f"target {measure.short(comparison.target)}"),
        x=1, xref="x domain", y=comparison.target, yref="y", xanchor="right", yanchor="top",
        showarrow=False, font={"color": QUIET, "size": 11},
    )  # fmt: skip
    return finished(figure, height=720)


def bars(comparison: Comparison) -> go.Figure:
    """The paper's figure 1: what it takes to reach the target, and the paper's own rows below ours."""
    figure = make_subplots(rows=1, cols=len(curves.BARS), shared_yaxes=True, horizontal_spacing=0.04)
    for column, (axis, title) in enumerate(curves.BARS.items(), start=1):
        found = target_bars(comparison, axis)
        names = [wrapped(bar.label) for bar in found]
        written = [f"{bar.value:,.{2 if bar.value < 100 else 0}f}" if bar.value else "" for bar in found]
        figure.add_bar(
            orientation="h", y=names, x=[bar.value for bar in found], showlegend=False,
            marker_color=[bar.colour for bar in found], text=written,
            textposition="inside", insidetextanchor="start", insidetextfont={"color": "white"}, textangle=0,
            customdata=[bar.note for bar in found],
            error_x={
                "type": "data", "symmetric": False, "color": INK, "thickness": 1, "width": 3,
                "array": [bar.high - bar.value or None for bar in found],
                "arrayminus": [bar.value - bar.low or None for bar in found],
            },
            hovertemplate="%{y}<br>%{x:,.2f} %{customdata}<extra></extra>", row=1, col=column,
        )  # fmt: skip
        noted = [(name, bar) for name, bar in zip(names, found, strict=True) if bar.note]
        figure.add_scatter(  # Plotly writes nothing on a bar of no length
            mode="text", y=[name for name, _ in noted], x=[bar.high for _, bar in noted],
            text=[f" {bar.note}" for _, bar in noted], textposition="middle right",
            textfont={"color": QUIET, "size": 12}, hoverinfo="skip", showlegend=False, row=1, col=column,
        )  # fmt: skip
        room = 1.5 if any(bar.value for _, bar in noted) else 1.05  # for a note beside the longest bar
        longest = max(bar.high for bar in found) or 1.0
        figure.update_xaxes(title_text=title, range=[0, room * longest], row=1, col=column)
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False)
    figure.update_layout(bargap=0.35)
    return finished(figure, height=110 + 44 * (len(comparison.groups) + len(comparison.paper)))


def score_parts(comparison: Comparison) -> go.Figure | None:
    """Each part of the score in a panel of its own; none where no method scores."""
    figure = make_subplots(rows=2, cols=2, shared_xaxes=True, horizontal_spacing=0.08, vertical_spacing=0.08)
    for cell, part in enumerate(curves.PARTS):
        place = {"row": cell // 2 + 1, "col": cell % 2 + 1}
        hover = "round %{x}<br>%{y:.3f}"
        add_bands(figure, comparison, partial(curves.score_part, part=part), place, hover, legend=cell == 0)
        figure.update_yaxes(title_text=f"mean {part}", **place)
    figure.update_xaxes(title_text="round", row=2)
    return finished(figure, height=560) if figure.data else None


def selections(comparison: Comparison) -> go.Figure:
    """The paper's figure 6: how often clients took part, against even chances."""
    figure = go.Figure()
    fill = "tozeroy" if len(comparison.groups) <= 3 else "none"  # more of them would cover each other
    for index, group in enumerate(comparison.groups):
        share, style = curves.selection_histogram(group.lines, group.clients), look(index)
        figure.add_scatter(
            x=np.arange(len(share)), y=share, name=text(group.label), fill=fill, fillcolor=style.fill,
            line={"color": style.colour, "dash": style.dash, "shape": "hvh", "width": 2},
            hovertemplate="%{y:.1%} of the clients took part in %{x} rounds",
        )  # fmt: skip
    for name, share in uniform_curves(comparison):
        figure.add_scatter(
            x=np.arange(len(share)), y=share, name=text(name), mode="lines+markers",
            line={"color": INK, "dash": "dash", "width": 1.5}, marker={"size": 5},
            hovertemplate="%{y:.1%} of the clients would take part in %{x} rounds",
        )  # fmt: skip
    figure.update_xaxes(title_text="rounds a client took part in", rangemode="tozero")
    figure.update_yaxes(title_text="share of the clients", tickformat=".0%", rangemode="tozero")
    return finished(figure, height=420)


def clients(comparison: Comparison) -> go.Figure:
    """Clients down, rounds across: who took part, how much each sent, over which link. One run at a time."""
    figure = make_subplots(rows=1, cols=len(MAPS), shared_yaxes=True, horizontal_spacing=0.03)
    for number, group in enumerate(comparison.groups):
        lines = curves.thinned(group.lines[0], group.clients)
        rounds = [line["round"] for line in lines]
        for column, (field, (_, _, hover)) in enumerate(MAPS.items(), start=1):
            figure.add_heatmap(
                x=rounds, z=curves.by_client(lines, field, group.clients), coloraxis=f"coloraxis{column}",
                hoverongaps=False, visible=number == 0, name=text(group.label),
                hovertemplate=f"client %{{y}}, round %{{x}}<br>{hover}<extra></extra>", row=1, col=column,
            )  # fmt: skip
    for column, (title, scale, _) in enumerate(MAPS.values(), start=1):
        axis = figure.layout["xaxis" if column == 1 else f"xaxis{column}"]
        bar = {
            "title": {"text": title, "side": "top"}, "orientation": "h", "thickness": 10, "y": 1.0, "yanchor": "bottom",
            "x": sum(axis.domain) / 2, "len": 0.3, "outlinewidth": 0,
        }  # fmt: skip
        figure.update_layout({f"coloraxis{column}": {"colorscale": scale, "colorbar": bar}})
        figure.update_xaxes(title_text="round", matches="x", showgrid=False, row=1, col=column)
    figure.update_yaxes(showgrid=False, matches="y")
    figure.update_yaxes(title_text="client", row=1, col=1)
    if len(comparison.groups) > 1:
        width = len(MAPS)
        buttons = [
            {
                "label": text(f"{group.label}, seed {group.runs[0].summary['seed']}"),
                "method": "restyle",
                "args": [{"visible": [one // width == number for one in range(width * len(comparison.groups))]}],
            }
            for number, group in enumerate(comparison.groups)
        ]
        place = {"x": 0, "xanchor": "left", "y": 1.24, "yanchor": "bottom", "bgcolor": "white", "bordercolor": GRID}
        figure.update_layout(updatemenus=[{"buttons": buttons, **place}])
    return finished(figure, height=560)


def traffic(comparison: Comparison) -> go.Figure:
    """Real bytes of a whole run by kind, stacked."""
    figure = go.Figure()
    names = [wrapped(group.label) for group in comparison.groups]
    amounts = [curves.megabytes_by_kind(group.lines) for group in comparison.groups]
    for (kind, title), colour in zip(curves.KINDS.items(), KIND_COLOURS, strict=True):
        figure.add_bar(
            orientation="h", y=names, x=[one[kind] for one in amounts], name=title, marker_color=colour,
            hovertemplate="%{y}<br>%{x:,.2f} MB",
        )  # fmt: skip
    figure.update_layout(barmode="stack", bargap=0.35)
    figure.update_xaxes(title_text="MB in the whole run (mean over seeds)")
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False)
    return finished(figure, height=190 + 44 * len(names))


def memory(comparison: Comparison) -> go.Figure | None:
    """The norm of the error memories; none where no run recorded it."""
    figure = make_subplots(rows=1, cols=1)
    add_bands(figure, comparison, curves.memory_norm, {"row": 1, "col": 1}, "round %{x}<br>norm %{y:.4~g}")
    figure.update_xaxes(title_text="round", rangemode="tozero")
    figure.update_yaxes(title_text="norm of the error memory", rangemode="tozero")
    return finished(figure, height=380) if figure.data else None


def add_bands(
    figure: go.Figure,
    comparison: Comparison,
    pick: Callable[[curves.Lines], curves.Curve],
    place: Mapping[str, int],
    hover: str,
    *,
    legend: bool = True,
    axis: str = "rounds",
) -> None:
    """Per method a mean line and, where there are several seeds, the area between the lowest and the highest; none of
    a method for which the `axis` means nothing."""
    for index, group in enumerate(comparison.groups):
        band, style = curves.band([pick(lines) for lines in group.lines]), look(index)
        if len(band.x) == 0 or not group.counts(axis):
            continue
        shared = {"name": text(group.label), "legendgroup": text(group.label), **place}
        if len(group.runs) > 1:
            figure.add_scatter(
                x=np.concatenate([band.x, band.x[::-1]]), y=np.concatenate([band.high, band.low[::-1]]),
                fill="toself", fillcolor=style.fill, line={"width": 0}, mode="lines", hoverinfo="skip",
                showlegend=False, **shared,
            )  # fmt: skip
        figure.add_scatter(
            x=band.x, y=band.mean, mode="lines" if len(band.x) > 1 else "markers",
            line={"color": style.colour, "dash": style.dash, "width": 2}, marker={"color": style.colour},
            hovertemplate=hover, showlegend=legend, **shared,
        )  # fmt: skip


def wrapped(label: str) -> str:
    return "<br>".join(text(line) for line in textwrap.wrap(label, 30)) or text(label)


def finished(figure: go.Figure, *, height: int) -> go.Figure:
    """The calm look that all share."""
    axis = {"gridcolor": GRID, "zeroline": False, "linecolor": QUIET, "automargin": True, "ticks": ""}
    figure.update_layout(
        template=None, height=height, autosize=True, paper_bgcolor="white", plot_bgcolor="white",
        font={"family": FONT, "size": 13, "color": INK}, hoverlabel={"font": {"family": FONT}, "namelength": -1},
        margin={"l": 60, "r": 20, "t": 20, "b": 50},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "xanchor": "left", "traceorder": "normal"},
    )  # fmt: skip
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    return figure


def drawn(comparison: Comparison) -> dict[str, go.Figure]:
    """Every picture that this comparison has something for, by the name of its section."""
    makers: Sequence[Callable[[Comparison], go.Figure | None]] = (
        accuracy, bars, score_parts, selections, clients, traffic, memory,
    )  # fmt: skip
    found = {maker.__name__: maker(comparison) for maker in makers}
    return {name: figure for name, figure in found.items() if figure is not None}
