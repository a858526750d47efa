"""The curves of a page: their numbers, which its script draws, and their legend."""

import json
from collections.abc import Iterable
from functools import partial
from html import escape
from typing import Any

from heteroselect.comparison.report import curves
from heteroselect.comparison.report.load import Comparison
from heteroselect.comparison.report.style import look


def chart(comparison: Comparison) -> str:
    """The metric against rounds, seconds and MB; a button of the legend hides a method in all panels."""
    data = drawn(comparison)
    there = sorted({line["key"] for panel in data["panels"] for line in panel["lines"]})
    buttons = "".join(
        f'<button type="button" aria-pressed="true" data-m="{key}">{stroke(key)}'
        f"{escape(comparison.groups[key].label)}</button>"
        for key in there
    )
    legend = f'<div class="legend" role="group" aria-label="Show or hide">{buttons}</div>'
    numbers = escape(json.dumps(data, separators=(",", ":"), ensure_ascii=False))
    return f'{legend}<div class="panels" data-chart="{numbers}"></div>'


def drawn(comparison: Comparison) -> dict[str, Any]:
    """What the script draws: one scale of the metric, the target, and a panel for each cost."""
    measure, target = comparison.measure, comparison.target
    panels, ends = [], [target]
    for axis, name in curves.AXES.items():
        bands = comparison.bands(partial(curves.accuracy, axis=axis), axis)
        ends += [float(end) for _, _, band in bands for end in (band.low.min(), band.high.max())]
        log = comparison.wide(axis) and all(band.x[0] > 0 for _, _, band in bands)
        panels.append({
            "name": name,
            "low": min(float(band.x[0]) for _, _, band in bands) if log else 0.0,
            "high": max((float(band.x[-1]) for _, _, band in bands), default=1.0),
            "log": log,
            "whole": axis == "rounds",
            "lines": [
                {"key": place, "css": look(place).css, "x": _short(band.x), "y": _short(band.mean)}
                | ({"low": _short(band.low), "high": _short(band.high)} if len(group.runs) > 1 else {})
                for place, group, band in bands
            ],
        })  # fmt: skip
    low, high = min(ends), max(ends)
    room = 0.03 * (high - low) or 0.1 * (abs(low) or 1.0)
    y = {"name": comparison.axis, "low": low - room, "high": high + room}
    return {
        "y": y | {"unit": measure.unit},
        "target": {"at": target, "label": f"target {measure.short(target)}"},
        "panels": panels,
    }


def _short(values: Iterable[float]) -> list[float]:
    """With as many digits as a screen can show."""
    return [float(f"{value:.6g}") for value in values]


def stroke(place: int) -> str:
    """A short line in the colour and the dash of the method at this place."""
    shape = f'<path class="line {look(place).css}" d="M0 4h26"/>'
    return f'<svg class="stroke" viewBox="0 0 26 8" aria-hidden="true">{shape}</svg>'
