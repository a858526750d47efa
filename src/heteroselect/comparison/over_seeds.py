"""What the seeds of a comparison say together: figures to target that some never arrive at, and paired differences.

A seed that never reaches the target is not left out, which would flatter a method that seldom arrives. It counts as
later than all that do in the median, and as the horizon in the restricted mean. Tables, pages and claims go by this.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median
from typing import Any

import numpy as np

Lines = Sequence[Mapping[str, Any]]

ENOUGH = 20
"""Differences from which on they are bootstrapped. A bootstrap of few values is too narrow: its 95 % interval of five
normal ones has the true mean in it about 85 times in 100, of ten about 90 times; Student's t keeps its promise."""


@dataclass(frozen=True)
class Arrivals:
    """What each seed took to reach the target, None where it did not, and what its run took in all (None: unknown).

    >>> Arrivals((5, None, 3), (9, 9, 9)).text, Arrivals((None, None, 3), (9, 8, 9)).text
    ('5 (from 3), 2 of 3 arrived', '> 8, 1 of 3 arrived')
    """

    values: tuple[float | None, ...]
    ends: tuple[float | None, ...]

    @property
    def reached(self) -> list[float]:
        return [value for value in self.values if value is not None]

    @property
    def whole(self) -> bool:
        """Whether all seeds arrived."""
        return None not in self.values

    @property
    def median(self) -> float | None:
        """Of all seeds, those that did not arrive being later than all others; None where that is beyond their runs."""
        found = median(float("inf") if value is None else value for value in self.values)
        whole = all(isinstance(value, int) for value in self.reached) and float(found).is_integer()
        return None if not np.isfinite(found) else int(found) if whole else found

    @property
    def watched(self) -> float | None:
        """Up to where no seed that is missing had arrived; None where all arrived, or where it is not known."""
        ends = [end for value, end in zip(self.values, self.ends, strict=True) if value is None]
        return None if not ends or None in ends else min(end for end in ends if end is not None)

    @property
    def beyond(self) -> float | None:
        """What the median is later than where it is not known: the median of all seeds if those that are missing had
        arrived at the end of their runs; None where an end is not known. With an even number of seeds that may lie
        below all ends."""
        pairs = zip(self.values, self.ends, strict=True)
        found = [end if value is None else value for value, end in pairs]
        return None if None in found else median(one for one in found if one is not None)

    def restricted(self, horizon: float) -> float:
        """The mean of min(value, horizon), which needs no value beyond the horizon."""
        return fmean(horizon if value is None else min(value, horizon) for value in self.values)

    @property
    def note(self) -> str:
        """How many arrived; nothing where all did."""
        return "" if self.whole else f"{len(self.reached)} of {len(self.values)} arrived"

    def told(self, show: Callable[[float], str]) -> tuple[str, str]:
        """The median, with numbers as `show` writes them; the range of the seeds, and how many arrived if not all."""
        if self.median is None:
            bound = self.beyond
            first = "not reached" if bound is None else f"> {show(bound)}"
            return first, "" if bound is None and not self.reached else self.note
        low, high = show(min(self.reached)), show(max(self.reached))
        seeds = f"(from {low})" if not self.whole else "" if low == high else f"({low} – {high})"
        return show(self.median), ", ".join(filter(None, (seeds, self.note)))

    @property
    def text(self) -> str:
        """The same in a line, all numbers with as many digits as the median."""
        return in_line(*self.told(partial(number, beside=self.median)))


def in_line(first: str, beside: str) -> str:
    """A number and what stands beside it."""
    return first + (" " if beside.startswith(("(", "±")) else ", ") * bool(beside) + beside


def horizon(rows: Iterable[Arrivals]) -> float | None:
    """Up to where every run of all rows has arrived or was watched: the smallest end of those that did not arrive.
    Where all arrived it is the latest arrival, which cuts nothing off; None where an end is not known."""
    found = list(rows)
    bounds = [one.watched for one in found if not one.whole]
    if not bounds:
        return max((value for one in found for value in one.reached), default=None)
    return None if None in bounds else min(bound for bound in bounds if bound is not None)


def number(value: float, beside: float | None = None) -> str:
    """With as many digits as the figure beside it, or as it needs itself; whole numbers stay whole."""
    like = value if beside is None else beside
    if isinstance(value, int) and float(like).is_integer():
        return f"{value:,}"
    if 0 < abs(like) < 0.1:
        return f"{value:.2g}"
    return f"{value:,.{2 if like < 10 else 1 if like < 1000 else 0}f}"


@dataclass(frozen=True)
class Interval:
    """The mean of paired differences, and its 95 % interval: None where there is one pair."""

    mean: float
    low: float | None
    high: float | None
    kind: str
    pairs: int

    @property
    def apart(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def half(self) -> float | None:
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def interval(differences: Sequence[float]) -> Interval | None:
    """Of differences paired by seed; None where there is none. Student's t, and from twenty pairs on the bias-corrected
    and accelerated bootstrap (BCa; Efron 1987), always with the same resamples.

    >>> found = interval([0.01, 0.02, 0.03])
    >>> round(found.mean, 3), round(found.low, 4), round(found.high, 4)
    (0.02, -0.0048, 0.0448)
    """
    count = len(differences)
    if not count:
        return None
    mean = float(np.mean(differences))
    if count == 1:
        return Interval(mean, None, None, "none", 1)
    from scipy import stats  # it takes a second to import

    error = float(np.std(differences, ddof=1)) / np.sqrt(count)
    if count < ENOUGH or error <= 1e-12 * abs(mean):  # of equal values no bootstrap has an acceleration
        half = float(stats.t.ppf(0.975, count - 1) * error)
        return Interval(mean, mean - half, mean + half, "Student's t", count)
    drawn = stats.bootstrap((differences,), np.mean, method="BCa", random_state=np.random.default_rng(0))
    low, high = drawn.confidence_interval
    return Interval(mean, float(low), float(high), "BCa bootstrap", count)


FINAL = "the mean of the last five evaluations, of the last quarter where there are fewer than 20"
"""What `tail` is, for the sentences of tables and pages."""


def tail(lines: Lines, last: int = 5) -> float | None:
    """The mean of the last evaluations: accuracy swings from cohort to cohort, and its last value with it. Of a short
    run it is the last quarter of them: its first ones are on the way up.

    >>> tail([{"accuracy": one} for one in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9)])
    0.8
    """
    found = [line["accuracy"] for line in lines if line["accuracy"] is not None]
    few = found[-max(1, min(last, len(found) // 4)) :]
    return float(np.mean(few)) if few else None


def rank(values: Sequence[float | None], *, higher: bool = True) -> float:
    """What rows are sorted by: the smaller, the better; one that lacks a value is the last."""
    known = [value for value in values if value is not None]
    return (-1 if higher else 1) * fmean(known) if known and len(known) == len(values) else float("inf")


def spread(values: Sequence[float | None], unit: str = "") -> str:
    """Mean ± standard deviation over seeds, with the unit "%" in percent; a figure that a seed lacks has no mean.

    >>> spread([0.9, 0.92], "%"), spread([5.0, None])
    ('91.00 ± 1.41', '— (1 of 2)')
    """
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return f"— ({len(known)} of {len(values)})"
    numbers = (100 if unit else 1) * np.array(known, float)
    middle = numbers.mean()
    digits = 2 if unit or middle < 10 else 1 if middle < 1000 else 0
    if not unit and 0 < middle < 0.1:
        digits = 1 - int(np.floor(np.log10(middle)))
    text = f"{middle:,.{digits}f}"
    return text + (f" ± {numbers.std(ddof=1):,.{digits}f}" if len(known) > 1 else "")
