"""A table of two crossed axes taken apart: what each level adds, and what only the pair does (two-way analysis of
variance).

    y[a, b] = grand mean + effect of a + effect of b + interaction of the two,

where the effects of each axis sum to zero. Where pairs are missing, it is the least-squares fit of the additive part.
All pairs share their seeds, so that seeds are resampled whole: what a lucky partition gives to all pairs widens no
difference between them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from heteroselect.comparison.figures import Floats

RESAMPLES = 10_000


@dataclass(frozen=True)
class Estimate:
    """A number and its 95 % interval; there is none for a single seed."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Effects:
    """A table taken apart. `residuals` are the interactions of the pairs, NaN where there is no such pair, and `pairs`
    the same with their intervals; `interaction` is their root mean square, less what the differences between seeds add
    to it (`noise`), and `p` the chance of so large an interaction where there is none."""

    grand: Estimate
    rows: tuple[Estimate, ...]
    columns: tuple[Estimate, ...]
    residuals: Floats
    pairs: tuple[tuple[Estimate | None, ...], ...]
    interaction: Estimate | None
    noise: float | None
    p: float | None
    seeds: int


def decompose(values: Floats) -> Effects | None:
    """The effects in `values` (levels of the one axis, of the other, seeds; NaN where there is no run). Only seeds that
    every pair has are used; None where there is no such seed, or where the pairs cannot tell all levels apart.

    >>> found = decompose(np.array([[[1.0], [2.0]], [[3.0], [8.0]]]))
    >>> found.grand.value, [round(one.value, 9) for one in (*found.rows, *found.columns)]
    (3.5, [-2.0, 2.0, -1.5, 1.5])
    >>> found.residuals.round(9).tolist(), round(found.interaction.value, 9)
    ([[1.0, -1.0], [-1.0, 1.0]], 1.0)
    """
    pairs: NDArray[np.bool_] = np.asarray(np.isfinite(values).any(axis=2))
    shared = np.isfinite(values[pairs]).all(axis=0)
    runs = values[pairs][:, shared]  # pairs × seeds
    fit = _fit(pairs)
    if fit is None or not runs.size:
        return None
    parts, residual, free = fit
    numbers = parts @ runs  # the fit is linear: of the mean over seeds it is the mean of the fits
    apart = residual @ runs
    seeds, height = runs.shape[1], len(pairs)
    draws = None  # how much each seed counts in each resample; a single one says nothing of its spread
    if seeds > 1:
        generator = np.random.Generator(np.random.Philox(0))
        draws = generator.multinomial(seeds, np.full(seeds, 1 / seeds), size=RESAMPLES) / seeds

    def estimates(found: Floats) -> list[Estimate]:
        return [_estimate(one.mean(), None if draws is None else draws @ one, seeds) for one in found]

    (grand, *effects), each = estimates(numbers), iter(estimates(apart))
    table = np.full(pairs.shape, np.nan)
    table[pairs] = apart.mean(axis=1)
    noise, p = _chance(apart, free)
    return Effects(
        grand=grand,
        rows=tuple(effects[:height]),
        columns=tuple(effects[height:]),
        residuals=table,
        pairs=tuple(tuple(next(each) if there else None for there in row) for row in pairs),
        interaction=_size(apart, noise or 0.0, draws) if free else None,
        noise=noise,
        p=p,
        seeds=seeds,
    )


def _fit(pairs: NDArray[np.bool_]) -> tuple[Floats, Floats, int] | None:
    """What turns the values of the pairs into the grand mean and all effects, and what turns them into what is left,
    with its degrees of freedom."""
    height, width = pairs.shape
    coded = [np.vstack([np.eye(count - 1), -np.ones(count - 1)]) for count in (height, width)]  # effects sum to zero
    a, b = np.nonzero(pairs)
    design = np.hstack([np.ones((len(a), 1)), coded[0][a], coded[1][b]])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    inverse = np.linalg.pinv(design)
    back = np.zeros((1 + height + width, design.shape[1]))
    back[0, 0] = 1.0
    back[1 : 1 + height, 1:height] = coded[0]
    back[1 + height :, height:] = coded[1]
    return back @ inverse, np.eye(len(a)) - design @ inverse, len(a) - design.shape[1]


def _estimate(value: Any, drawn: Any, seeds: int) -> Estimate:
    """With the percentiles of a bootstrap, widened as Student's t is for few seeds (Hesterberg 2015, expanded
    percentiles): those of the plain one hold too seldom with three or five."""
    if drawn is None:
        return Estimate(float(value))
    tail = float(stats.norm.cdf(-np.sqrt(seeds / (seeds - 1)) * stats.t.ppf(0.975, seeds - 1)))
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Estimate(float(value), float(low), float(high))


def _size(apart: Floats, noise: float, draws: Floats | None) -> Estimate:
    """The root mean square of the interactions. Squares only add up: the noise of the mean over seeds is taken off, and
    off a resample that of the resampling too, or the interval of no interaction at all would begin above zero."""
    seeds = apart.shape[1]

    def size(means: Floats, times: float) -> Floats:
        squares: Floats = np.mean(means**2, axis=-1) - times * noise**2
        return np.sqrt(np.maximum(squares, 0.0))

    drawn = None if draws is None else size(draws @ apart.T, 2 - 1 / seeds)
    return _estimate(size(apart.mean(axis=1), 1.0), drawn, seeds)


def _chance(apart: Floats, free: int) -> tuple[float | None, float | None]:
    """The size that chance alone would give the interaction, and the p-value of the F test with seeds as blocks."""
    count, seeds = apart.shape
    if seeds < 2 or not free:
        return None, None
    mean = apart.mean(axis=1, keepdims=True)
    error = float(((apart - mean) ** 2).sum()) / (free * (seeds - 1))
    noise = float(np.sqrt(error / seeds * free / count))
    if error <= 1e-24 * float((apart**2).sum() + 1e-300):
        return noise, None  # the seeds do not differ: there is nothing to test against
    ratio = seeds * float((mean**2).sum()) / free / error
    return noise, float(stats.f.sf(ratio, free, free * (seeds - 1)))
