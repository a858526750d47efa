"""The scale of an axis: where a value stands on it, the round numbers that are written beside it, and how."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from heteroselect.comparison.report.curves import Floats

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

    def share(self, value: float) -> float:
        """Where a value stands between both ends, from 0 to 1."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def places(self, values: Floats) -> Places:
        """In units, of a scale that is no logarithm."""
        return np.rint(UNITS * (values - self.low) / (self.high - self.low)).astype(np.int64)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round numbers between both ends: the share of each, and its label."""
        if self.log:
            return [(self.share(value), f"{value:g}") for value in _powers(self.low, self.high)]
        step = _step(self.high - self.low)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [(self.share(n * step), self._label(n * step, step)) for n in range(first, last + 1)]

    def _label(self, value: float, step: float) -> str:
        if self.percent:
            return f"{100 * value:,.{_decimals(100 * step)}f}%"
        if step >= 1e6 or step < 1e-5:
            return f"{value:.4g}"
        return f"{value:,.{_decimals(step)}f}"

    def text(self, value: float) -> str:
        """A value for a table, with its unit."""
        return f"{value:.2%}" if self.percent else f"{value:,.4g} {self.unit}".rstrip()


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
