"""The picture and the page of a crossing: a heat map per outcome with numbers in its cells, and the effects below
it."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize, to_hex
from matplotlib.figure import Figure

from heteroselect.comparison.cross import OUTCOMES, Crossing
from heteroselect.comparison.cross_table import (
    brought,
    effect_rows,
    interaction,
    left_out,
    missing_of_papers,
    note,
    pair_rows,
    told,
)
from heteroselect.comparison.over_seeds import FINAL
from heteroselect.comparison.report.figure import STYLE, save
from heteroselect.comparison.report.html import page, row, section, table
from heteroselect.comparison.report.style import INK, QUIET
from heteroselect.files import write_whole
from heteroselect.runs.folder import as_user_error

MAIN = ("final_accuracy", "seconds", "megabytes_up", "megabytes")
PAGE, FIGURES = "cross.html", ("cross.svg", "cross.png")


def draw(crossing: Crossing, names: Sequence[str]) -> Figure:
    """A heat map for each of these outcomes, two beside each other; light is good."""
    columns, across = len(crossing.levels[1]), min(2, len(names))
    down = -(-len(names) // across)
    size = across * (1.6 + 0.95 * columns), down * (1.1 + 0.5 * len(crossing.levels[0]))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).flat
    for panel, name in zip(panels, names, strict=False):
        _heat(panel, crossing, name)
    for panel in list(panels)[len(names) :]:
        panel.remove()
    return figure


@dataclass(frozen=True)
class Cell:
    """What stands in a cell, its second line, and its colours; a pair without a result has none of its own."""

    text: str
    below: str
    colour: str | None
    ink: str


def cells(crossing: Crossing, name: str) -> dict[tuple[int, int], Cell]:
    """Those of a heat map, by row and column."""
    middles = crossing.middles(name)
    colours, scale = _colours(OUTCOMES[name].cost, middles)
    found = {}
    for a, b in np.ndindex(middles.shape):
        colour, ink = None, QUIET
        if np.isfinite(middles[a, b]):
            red, green, blue, _ = colours(scale(middles[a, b]))
            ink = INK if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else "white"
            colour = to_hex((red, green, blue))
        found[a, b] = Cell(*told(crossing, name, (a, b)), colour, ink)
    return found


def _heat(panel: Axes, crossing: Crossing, name: str) -> None:
    outcome, middles = OUTCOMES[name], crossing.middles(name)
    colours, scale = _colours(outcome.cost, middles)
    panel.imshow(np.where(np.isfinite(middles), middles, np.nan), cmap=colours, norm=scale, aspect="auto")
    for (a, b), one in cells(crossing, name).items():
        panel.text(b, a, one.text, ha="center", va="bottom" if one.below else "center", color=one.ink, fontsize=8)
        panel.text(b, a, one.below, ha="center", va="top", color=one.ink, fontsize=6)
    rows, columns = crossing.levels
    panel.set_xticks(range(len(columns)), columns, fontsize=7)
    panel.set_yticks(range(len(rows)), rows, fontsize=7)
    panel.set(xlabel=crossing.keys[1], ylabel=crossing.keys[0])
    panel.set_title(f"{outcome.title}, {outcome.unit}", fontsize=9)
    panel.tick_params(length=0)
    for side in panel.spines.values():
        side.set_visible(False)


def _colours(cost: bool, middles: Any) -> tuple[Any, Any]:
    """A scale from dark to light, which is good; costs, which differ by factors, on a logarithm."""
    known = middles[np.isfinite(middles)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (1.0, 1.0)
    by_factor = cost and low > 0
    if low == high:  # one shade
        low, high = (low / 2, high * 2) if by_factor else (low - 1, high + 1)
    scale = LogNorm(low, high) if by_factor else Normalize(low, high)
    colours = colormaps["viridis_r" if cost else "viridis"]
    return colours, scale


def heat_table(crossing: Crossing, name: str) -> str:
    """A heat map as a table of a page, which is read as it is seen."""
    found, (down, across) = cells(crossing, name), crossing.levels
    rows = []
    for a, level in enumerate(down):
        shown = [f"<td>{escape(level)}</td>"]
        for b in range(len(across)):
            one = found[a, b]
            style = f' style="background:{one.colour};color:{one.ink}"' if one.colour else ""
            below = f"<small>{escape(one.below)}</small>" if one.below else ""
            shown.append(f"<td{style}>{escape(one.text)}{below}</td>")
        rows.append(f"<tr>{''.join(shown)}</tr>")
    return table([f"{crossing.keys[0]} ↓, {crossing.keys[1]} →", *across], rows, kind="heat")


def render(crossing: Crossing, command: str) -> str:
    """The whole page."""
    keys, counts = crossing.keys, [len(levels) for levels in crossing.levels]
    title = f"{crossing.base}: {keys[0]} × {keys[1]}"
    lead = (
        f"{counts[0]} × {counts[1]} pairs, {len(crossing.runs)} runs with the seeds "
        f"{', '.join(map(str, crossing.seeds))}. {note(crossing)}"
    )
    sections = _listed("Pairs without a result", left_out(crossing))
    for name, outcome in OUTCOMES.items():
        effects = crossing.effects(name)
        heading = f"{outcome.title}, {outcome.unit}"
        parts = [heat_table(crossing, name)]
        if effects is None:
            parts.append('<p class="caption">Not every run has this figure, so that no effects are given.</p>')
        else:
            body = [row([escape(cell) for cell in line]) for line in effect_rows(crossing, name, effects)]
            parts.append(table(["setting", "value", "effect"], body))
            parts.append(f"<p>{escape(interaction(outcome, effects))}</p>")
            if effects.interaction is not None:
                pairs = [row([escape(cell) for cell in line]) for line in pair_rows(crossing, name, effects)]
                parts.append(table([f"interaction: {keys[0]} ↓, {keys[1]} →", *crossing.levels[1]], pairs))
        caption = f"The {'median' if outcome.end else 'mean'} over seeds; light is good."
        caption += f" An accuracy is {FINAL}." if name == "final_accuracy" else ""
        sections.append(section(heading, caption, *parts))
    sections += _listed("What came with the values", brought(crossing))
    sections += _listed("What is missing of the papers", missing_of_papers(crossing))
    return page(title, lead, sections, command)


def _listed(heading: str, lines: Sequence[str]) -> list[str]:
    """A section with a line for each, where there is one."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return [section(heading, "", f"<ul>{items}</ul>")] if lines else []


def write(crossing: Crossing, out: Path, command: str) -> None:
    """The page, and one picture of the main outcomes as SVG and PNG."""
    text = render(crossing, command)
    with as_user_error(out):
        write_whole(out / PAGE, text.encode())
    for name in FIGURES:
        with rc_context(STYLE):
            save(draw(crossing, MAIN), out / name, "--out")
