"""Tables and curves for a notebook, as HTML that loads nothing and runs nothing; text has the notebook's colour."""

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

from heteroselect.core.measure import Measure
from heteroselect.runs.display.curves import Curve

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 520, 240, 62, 14, 12, 40


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column has names and all others numbers."""

    def line(cells: Sequence[str], tag: str) -> str:
        sides = ["left", *["right"] * len(cells)]
        made = (f"<{tag} style='text-align:{s}'>{escape(cell)}</{tag}>" for s, cell in zip(sides, cells, strict=False))
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(heads, 'th')}</thead><tbody>{body}</tbody></table>"


def chart(curves: Sequence[Curve], across: str, measure: Measure, target: float | None = None) -> str:
    """Curves over a common axis as an inline SVG, with a dashed line at the target; nothing where there is no point."""
    points = [(x, y) for curve in curves for x, y in zip(curve.x, curve.y, strict=True)]
    if not points:
        return ""
    high = max(x for x, _ in points) or 1.0
    heights = [y for _, y in points] + ([] if target is None else [target])
    low, top = min(heights), max(heights)
    low, top = (low, top) if top > low else (low - 0.5, top + 0.5)

    def at(x: float, y: float) -> str:
        right = LEFT + (WIDTH - LEFT - RIGHT) * x / high
        return f"{right:.1f},{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - low) / (top - low):.1f}"

    parts = [_frame(high, low, top, across, measure)]
    if target is not None:
        ends = [at(0, target).split(","), at(high, target).split(",")]
        (x1, y1), (x2, y2) = ends
        parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#8a8f98" stroke-dasharray="5 4"/>')
    for curve in curves:
        joined = " ".join(at(x, y) for x, y in zip(curve.x, curve.y, strict=True))
        named = f"<title>{escape(curve.label)}</title>" if curve.label else ""
        parts.append(
            f'<polyline points="{joined}" fill="none" stroke="{curve.colour}" stroke-width="1.8">{named}</polyline>'
        )
        if len(curve.x) == 1:  # a line of one point cannot be seen
            x, y = joined.split(",")
            parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{curve.colour}">{named}</circle>')
    about = f"{measure.name} against {across}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
        f'aria-label="{escape(about)}" font-size="11" fill="currentColor" style="max-width:100%">{"".join(parts)}</svg>'
        + _legend(curves)
    )


def _frame(high: float, low: float, top: float, across: str, measure: Measure) -> str:
    """Both axes with a few round numbers, and what they are."""
    left, right, bottom = LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = [f'<path d="M{left} {TOP}V{bottom}H{right}" fill="none" stroke="#8a8f98"/>']
    for value in ticks(0, high):
        x = left + (right - left) * value / high
        parts.append(f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{value:,g}</text>')
    for value in ticks(low, top):
        y = bottom - (bottom - TOP) * (value - low) / (top - low)
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(measure.short(value))}</text>')
    parts.append(f'<text x="{(left + right) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(across)}</text>')
    middle = (TOP + bottom) / 2
    turned = f'transform="rotate(-90 12 {middle})" text-anchor="middle"'
    return "".join([*parts, f'<text x="12" y="{middle}" {turned}>{escape(measure.axis)}</text>'])


def ticks(low: float, high: float) -> list[float]:
    """A few round numbers from `low` to `high`.

    >>> ticks(0, 100), ticks(0.62, 0.93)
    ([0.0, 25.0, 50.0, 75.0, 100.0], [0.7, 0.8, 0.9])
    """
    size = 10.0 ** floor(log10((high - low) / 4))
    step = next(size * times for times in (1, 2, 2.5, 5, 10) if (high - low) / (size * times) <= 4.001)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(place * step, 12) for place in range(first, last + 1)]


def _legend(curves: Sequence[Curve]) -> str:
    """Who is who, where there is more than one curve."""
    named = {curve.label: curve.colour for curve in curves if curve.label}
    if len(named) < 2:
        return ""
    keys = "".join(
        f"<span style='margin-right:1.2em'><span style='color:{colour}'>■</span> {escape(name)}</span>"
        for name, colour in named.items()
    )
    return f"<div style='font-size:small'>{keys}</div>"
