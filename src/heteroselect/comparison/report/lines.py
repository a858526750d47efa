"""Curves on a page that can be read with a pointer and enlarged: text as HTML, which keeps its size on every screen,
and shapes as SVG, which stretch."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Self

import numpy as np
import numpy.typing as npt

from heteroselect.comparison.figures import Floats
from heteroselect.comparison.report.curves import Band, thinned
from heteroselect.comparison.report.style import Look

Places = npt.NDArray[np.int64]
UNITS = 10_000
"""A picture is so many units wide and high, whatever its size on a screen, so that whole numbers place a point."""


@dataclass(frozen=True)
class Scale:
    """From `low` at 0 to `high` at UNITS; values that are a share are written in percent."""

    low: float
    high: float
    percent: bool = False
    unit: str = ""
    log: bool = False

    @classmethod
    def over(
        cls, values: Iterable[float], *, zero: bool = False, margin: float = 0.0, percent: bool = False, unit: str = ""
    ) -> Self:
        """One that has room for all values, and for `margin` of their range on both sides; it begins at 0 if `zero`."""
        found = [float(value) for value in values] or [0.0]
        low, high = min(found), max(found)
        if zero:
            low, high = min(0.0, low), max(0.0, high)
        if low == high:
            low, high = (0.0, 1.0) if low == 0 and zero else (low - (abs(low) or 1) / 10, high + (abs(high) or 1) / 10)
        room = margin * (high - low)
        return cls(low if zero and low == 0 else low - room, high + room, percent, unit)

    def shares(self, values: Floats) -> Floats:
        """Where values stand between both ends, from 0 to 1."""
        if self.log:
            return np.log(values / self.low) / math.log(self.high / self.low)
        return (values - self.low) / (self.high - self.low)

    def places(self, values: Floats) -> Places:
        """The same in units."""
        return np.rint(UNITS * self.shares(values)).astype(np.int64)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round numbers between both ends: the share of each, and its label."""
        if self.log:
            values = _powers(self.low, self.high)
            return [(float(self.shares(np.array(value))), f"{value:g}") for value in values]
        step = _step(self.high - self.low)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        values = [n * step for n in range(first, last + 1)]
        return [(float(self.shares(np.array(value))), self._label(value, step)) for value in values]

    def _label(self, value: float, step: float) -> str:
        if self.percent:
            return f"{100 * value:,.{_decimals(100 * step)}f}%"
        return f"{value:.4g}" if step >= 1e6 or step < 1e-5 else f"{value:,.{_decimals(step)}f}"

    def html(self, name: str) -> str:
        """What the page's script reads."""
        kind = "percent" if self.percent else "log" if self.log else "plain"
        return f' data-{name}="{self.low!r} {self.high!r} {kind}" data-{name}-unit="{escape(self.unit)}"'


@dataclass(frozen=True)
class Series:
    """One method's line, and the range of its seeds around it. Its `key` is the same in all panels: the legend hides it
    in all of them."""

    key: int
    label: str
    css: str
    x: Floats
    y: Floats
    area: tuple[Floats, Floats] | None = None

    @classmethod
    def of(cls, key: int, label: str, look: Look, band: Band, *, area: bool) -> Self:
        thin = thinned(band)
        return cls(key, label, look.css, thin.x, thin.mean, (thin.low, thin.high) if area else None)


@dataclass(frozen=True)
class Panel:
    """Lines over one pair of axes, and a level across them with its name."""

    title_x: str
    title_y: str
    x: Scale
    y: Scale
    series: tuple[Series, ...]
    rule: tuple[float, str]
    whole: bool = False
    """whether there is nothing between two whole numbers of x"""

    def html(self) -> str:
        shapes = "".join(shape for one in self.series for shape in self._shapes(one))
        share = 1 - float(self.y.shares(np.array(self.rule[0])))
        rule = f'<path class="rule" d="M0 {round(UNITS * share)}h{UNITS}"/>'
        note = f'<span class="level" style="top:{100 * share:.2f}%">{escape(self.rule[1])}</span>'
        whole = " data-whole" if self.whole else ""
        described = escape(f"{self.title_y} against {self.title_x}")
        return (
            f'<div class="panel" tabindex="0" role="group" aria-label="Chart: {described}. Arrow keys read it, plus '
            f'and minus zoom, Escape shows the whole."{self.x.html("x")}{self.y.html("y")}{whole} '
            f'data-name="{escape(self.title_x)}"><div class="yname">{escape(self.title_y)}</div>'
            f'<div class="yticks">{_ticks(self.y, "bottom")}</div>'
            f'<div class="area"><svg viewBox="0 0 {UNITS} {UNITS}" preserveAspectRatio="none" aria-hidden="true">'
            f'<path class="grid" d="{_grid(self.x, self.y)}"/>{shapes}{rule}</svg>{note}</div>'
            f'<div class="xticks">{_ticks(self.x, "left")}</div><div class="xname">{escape(self.title_x)}</div></div>'
        )

    def _shapes(self, one: Series) -> Iterator[str]:
        """The area, so that it lies below, and the line."""
        mark, x = f'data-m="{one.key}"', self.x.places(one.x)
        if one.area is not None:
            low, high = (UNITS - self.y.places(edge) for edge in one.area)
            around = path(np.r_[x, x[::-1]], np.r_[low, high[::-1]])
            yield f'<path class="band {one.css}" {mark} d="{around}z"/>'
        y = UNITS - self.y.places(one.y)
        yield f'<path class="line {one.css}" {mark} d="{path(x, y)}"/>'
        if len(x) == 1:
            yield f'<path class="dots {one.css}" {mark} d="M{x[0]} {y[0]}h0"/>'


def chart(panels: Sequence[Panel]) -> str:
    """Panels beside each other, with one legend."""
    names = {one.key: one for panel in panels for one in panel.series}
    body = "".join(panel.html() for panel in panels)
    return f'{legend([names[key] for key in sorted(names)])}<div class="panels">{body}</div>'


def legend(series: Sequence[Series]) -> str:
    """A button for each, which the page's script listens to; without the script they only name the lines."""
    buttons = "".join(
        f'<button type="button" aria-pressed="true" data-m="{one.key}">{stroke(one.css)}{escape(one.label)}</button>'
        for one in series
    )
    return f'<div class="legend" role="group" aria-label="Show or hide">{buttons}</div>'


def stroke(css: str) -> str:
    """A short line in a method's colour and dash."""
    return f'<svg class="stroke" viewBox="0 0 26 8" aria-hidden="true"><path class="line {css}" d="M0 4h26"/></svg>'


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


def _ticks(scale: Scale, side: str) -> str:
    return "".join(f'<span style="{side}:{100 * share:.2f}%">{escape(label)}</span>' for share, label in scale.ticks)


def _grid(x: Scale, y: Scale) -> str:
    down = "".join(f"M{round(UNITS * share)} 0v{UNITS}" for share, _ in x.ticks)
    return down + "".join(f"M0 {round(UNITS * (1 - share))}h{UNITS}" for share, _ in y.ticks)


def _step(span: float, most: int = 6) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that fits at most so often.

    >>> _step(100), _step(0.83), _step(6)
    (20.0, 0.2, 1.0)
    """
    power = float(10 ** math.floor(math.log10(span / most)))
    return next(power * one for one in (1, 2, 5, 10) if span / (power * one) <= most)


def _decimals(step: float) -> int:
    return max(0, -math.floor(math.log10(step) + 1e-9))


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten between both ends, or 1, 2 and 5 times those where there are fewer than three."""
    whole = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5)):
        found = [one * 10.0**power for power in whole for one in factors]
        found = [one for one in found if low <= one * (1 + 1e-9) and one <= high * (1 + 1e-9)]
        if len(found) >= 3:
            break
    return found
