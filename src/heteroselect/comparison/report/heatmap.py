"""The picture and the page of a crossing: a heat map per outcome with numbers in its cells, and the effects below
it."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
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
from heteroselect.comparison.over_seeds import FINAL, in_line
from heteroselect.comparison.report.figure import STYLE, save, saved
from heteroselect.comparison.report.html import listed, page, picture, row, section, table
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


def _heat(panel: Axes, crossing: Crossing, name: str) -> None:
    """Draw the outcome of each pair; one without a result has no colour."""
    outcome, middles = OUTCOMES[name], crossing.middles(name)
    colours, scale = _colours(outcome.cost, middles)
    panel.imshow(np.where(np.isfinite(middles), middles, np.nan), cmap=colours, norm=scale, aspect="auto")
    for (a, b), middle in np.ndenumerate(middles):
        red, green, blue, _ = colours(scale(middle))
        ink = "white" if 0.3 * red + 0.59 * green + 0.11 * blue <= 0.5 else INK
        style: dict[str, Any] = {"ha": "center", "color": ink if np.isfinite(middle) else QUIET}
        first, below = told(crossing, name, (a, b))
        panel.text(b, a, first, va="bottom" if below else "center", fontsize=8, **style)
        panel.text(b, a, below, va="top", fontsize=6, **style)
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
    return colormaps["viridis_r" if cost else "viridis"], scale


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
        said = "; ".join(f"{crossing.pair(place)}: {in_line(*told(crossing, name, place))}" for place in crossing.cells)
        with rc_context(STYLE | {"svg.fonttype": "none"}):
            parts = [picture(saved(draw(crossing, [name]), ".svg"), f"{heading}. {said}")]
        if effects is None:
            parts.append('<p class="caption">Not every run has this figure, so that no effects are given.</p>')
        else:
            parts.append(table(["setting", "value", "effect"], map(row, effect_rows(crossing, name, effects))))
            parts.append(f"<p>{escape(interaction(outcome, effects))}</p>")
            if effects.interaction is not None:
                heads = [f"interaction: {keys[0]} ↓, {keys[1]} →", *crossing.levels[1]]
                parts.append(table(heads, map(row, pair_rows(crossing, name, effects))))
        caption = f"The {'median' if outcome.end else 'mean'} over seeds; light is good."
        caption += f" An accuracy is {FINAL}." if name == "final_accuracy" else ""
        sections.append(section(heading, caption, *parts))
    sections += _listed("What came with the values", brought(crossing))
    sections += _listed("What is missing of the papers", missing_of_papers(crossing))
    return page(title, lead, sections, command)


def _listed(heading: str, lines: Sequence[str]) -> list[str]:
    return [section(heading, "", listed(lines))] if lines else []


def write(crossing: Crossing, out: Path, command: str) -> None:
    """The page, and one picture of the main outcomes as SVG and PNG."""
    text = render(crossing, command)
    with as_user_error(out):
        write_whole(out / PAGE, text.encode())
    for name in FIGURES:
        with rc_context(STYLE):
            save(draw(crossing, MAIN), out / name, "--out")
