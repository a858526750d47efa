"""Charts of lines on a page: text as HTML, which keeps its size on every screen, and shapes as SVG, which stretch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from heteroselect.comparison.report.curves import Band, Floats, thinned
from heteroselect.comparison.report.html import row, table
from heteroselect.comparison.report.scale import UNITS, Places, Scale
from heteroselect.comparison.report.style import Look

COLUMNS = 9
"""Of a table of values."""

TIGHT, LOOSE = 4, 25
"""Units by which a drawn line, and the edge of an area, may be off: both are less than a pixel."""


@dataclass(frozen=True)
class Series:
    """One method's line, the area around it, and what stands beside each of its points."""

    key: int
    """The same in all panels of a chart: the legend hides it in all of them."""
    label: str
    css: str
    x: Floats
    y: Floats
    area: tuple[Floats, Floats] | None = None
    steps: bool = False
    dots: bool = False
    who: Sequence[int] = ()
    """The client that each point is of, where points are clients."""

    @classmethod
    def of(cls, key: int, label: str, look: Look, band: Band, *, area: bool) -> "Series":
        """That of a method: the mean over its seeds, and if `area` also the range of the seeds."""
        thin = thinned(band)
        return cls(key, label, look.css, thin.x, thin.mean, (thin.low, thin.high) if area else None)

    def read(self, x: float) -> float | None:
        """Its height at `x`; none where it does not go."""
        if not self.x[0] <= x <= self.x[-1]:
            return None
        if self.steps:
            return float(self.y[int(np.abs(self.x - x).argmin())])
        return float(np.interp(x, self.x, self.y))


@dataclass(frozen=True)
class Panel:
    """Lines over one pair of axes."""

    title_x: str
    title_y: str
    x: Scale
    y: Scale
    series: tuple[Series, ...]
    whole: bool = False
    """Whether there is nothing between two whole numbers of x."""
    rule: tuple[float, str] | None = None
    """A level across the panel, and its name."""

    def html(self) -> str:
        shapes = "".join(shape for one in self.series for shape in self._shapes(one))
        rule = note = ""
        if self.rule is not None:
            level, name = self.rule
            share = 1 - self.y.share(level)
            rule = f'<path class="rule" d="M0 {round(UNITS * share)}h{UNITS}"/>'
            note = f'<span class="level" style="top:{100 * share:.2f}%">{escape(name)}</span>'
        whole = " data-whole" if self.whole else ""
        described = escape(f"{self.title_y} against {self.title_x}")
        return (
            f'<div class="panel" tabindex="0" role="group" aria-label="Chart: {described}. Arrow keys read it, plus '
            f'and minus zoom, Escape shows the whole."{_scale("x", self.x)}{_scale("y", self.y)}{whole} '
            f'data-name="{escape(self.title_x)}"><div class="yname">{escape(self.title_y)}</div>'
            f'<div class="yticks">{_ticks(self.y, "bottom")}</div>'
            f'<div class="area"><svg viewBox="0 0 {UNITS} {UNITS}" preserveAspectRatio="none" aria-hidden="true">'
            f'<path class="grid" d="{_grid(self.x, self.y)}"/>{shapes}{rule}</svg>{note}</div>'
            f'<div class="xticks">{_ticks(self.x, "left")}</div><div class="xname">{escape(self.title_x)}</div></div>'
        )

    def _shapes(self, one: Series) -> Iterator[str]:
        """The area, so that it lies below, and the line."""
        mark = f'data-m="{one.key}"'
        if one.area is not None:
            (x, low), (_, high) = (self._points(one, edge) for edge in one.area)
            (left, low), (right, high) = simplified(x, low, LOOSE), simplified(x, high, LOOSE)
            around = path(np.r_[left, right[::-1]], np.r_[low, high[::-1]])
            yield f'<path class="band {one.css}" {mark} d="{around}z"/>'
        x, y = self._points(one, one.y)
        who = f' data-who="{" ".join(map(str, one.who))}"' if one.who else ""
        yield f'<path class="line {one.css}" {mark}{who} d="{path(*simplified(x, y, TIGHT))}"/>'
        if one.dots or len(one.x) == 1:
            spots = "".join(f"M{a} {b}h0" for a, b in zip(x, y, strict=True))
            yield f'<path class="dots {one.css}" {mark} d="{spots}"/>'

    def _points(self, one: Series, values: Floats) -> tuple[Places, Places]:
        """In units; a step reaches half a unit of the axis to both sides of its point, but not out of the picture."""
        x, y = self.x.places(one.x), UNITS - self.y.places(values)
        if not one.steps:
            return x, y
        half = round(UNITS / (self.x.high - self.x.low) / 2)
        return np.stack([np.maximum(x - half, 0), x + half], axis=1).ravel(), np.repeat(y, 2)


@dataclass(frozen=True)
class Lines:
    """Panels with one legend, and below them some of their values in tables."""

    panels: tuple[Panel, ...]
    columns: int = 2

    def html(self) -> str:
        names = {one.key: one for panel in self.panels for one in panel.series}
        body = "".join(panel.html() for panel in self.panels)
        return (
            f'{legend([names[key] for key in sorted(names)])}<div class="panels p{self.columns}">{body}</div>'
            f"{values(''.join(_table(panel) for panel in self.panels))}"
        )


def legend(series: Sequence[Series]) -> str:
    """A button for each, which the page's script listens to; without the script they only name the lines."""
    buttons = "".join(
        f'<button type="button" aria-pressed="true" data-m="{one.key}">{stroke(one.css)}{escape(one.label)}</button>'
        for one in series
    )
    if len(series) > 2:
        buttons += '<button type="button" class="every" data-all>all</button>'
        buttons += '<button type="button" class="every" data-none>none</button>'
    return f'<div class="legend" role="group" aria-label="Show or hide">{buttons}</div>'


def stroke(css: str) -> str:
    """A short line in a method's colour and dash."""
    return f'<svg class="stroke" viewBox="0 0 26 8" aria-hidden="true"><path class="line {css}" d="M0 4h26"/></svg>'


def values(tables: str) -> str:
    """Tables that are there for whoever wants them."""
    return f'<details class="values"><summary>Values as a table</summary>{tables}</details>'


def path(x: Places, y: Places) -> str:
    """A line through these points, as SVG writes it most briefly.

    >>> path(np.array([0, 10, 10, 30]), np.array([5, 0, 0, 7]))
    'M0 5l10-5 20 7'
    """
    moves = [(int(a), int(b)) for a, b in zip(np.diff(x), np.diff(y), strict=True) if a or b]
    if not moves:
        return f"M{x[0]} {y[0]}h0"
    text = "".join(f" {number}" if number >= 0 else str(number) for move in moves for number in move)
    return f"M{x[0]} {y[0]}l{text.lstrip()}"


def simplified(x: Places, y: Places, off: int) -> tuple[Places, Places]:
    """The same line with as few of its points as keep every other point within `off` of it (Douglas and Peucker).

    >>> simplified(np.array([0, 1, 2, 3]), np.array([0, 1, 9, 3]), off=2)[0].tolist()
    [0, 1, 2, 3]
    >>> simplified(np.array([0, 1, 2, 3]), np.array([0, 1, 4, 3]), off=2)[0].tolist()
    [0, 3]
    """
    kept, left = {0, len(x) - 1}, [(0, len(x) - 1)]
    while left:
        first, last = left.pop()
        part = slice(first, last + 1)
        if last - first < 2 or x[first] == x[last]:
            kept.update(range(first, last + 1))
            continue
        away = np.abs(np.interp(x[part], x[[first, last]], y[[first, last]]) - y[part])
        if away.max() > off:
            middle = first + int(away.argmax())
            kept.add(middle)
            left += [(first, middle), (middle, last)]
    places = sorted(kept)
    return x[places], y[places]


def _scale(name: str, scale: Scale) -> str:
    kind = "percent" if scale.percent else "plain"
    return f' data-{name}="{scale.low!r} {scale.high!r} {kind}" data-{name}-unit="{escape(scale.unit)}"'


def _ticks(scale: Scale, side: str) -> str:
    return "".join(f'<span style="{side}:{100 * share:.2f}%">{escape(label)}</span>' for share, label in scale.ticks)


def _grid(x: Scale, y: Scale) -> str:
    down = "".join(f"M{round(UNITS * share)} 0v{UNITS}" for share, _ in x.ticks)
    return down + "".join(f"M0 {round(UNITS * (1 - share))}h{UNITS}" for share, _ in y.ticks)


def _table(panel: Panel) -> str:
    """The lines at a few places along the axis."""
    if not panel.series:
        return ""
    low, high = min(one.x[0] for one in panel.series), max(one.x[-1] for one in panel.series)
    places = np.unique(np.rint(np.linspace(low, high, COLUMNS)) if panel.whole else np.linspace(low, high, COLUMNS))
    rows = []
    for one in panel.series:
        found = [one.read(float(place)) for place in places]
        texts = ("" if value is None else panel.y.text(value) for value in found)
        rows.append(row([escape(cell) for cell in (one.label, *texts)]))
    heads = [f"{place:,.0f}" if panel.whole else f"{place:,.4g}" for place in places]
    return f"<h3>{escape(panel.title_y)} against {escape(panel.title_x)}</h3>" + table(["", *heads], rows)
