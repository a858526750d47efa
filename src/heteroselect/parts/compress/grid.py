"""Values rounded to a grid; what QSGD and TernGrad share: most of a coarse grid's codes stand for zero, and need not be
sent."""

from dataclasses import replace

import numpy as np

from heteroselect.core.update import Positions, Update, Values, all_positions
from heteroselect.parts.compress.codecs.grid import Grid
from heteroselect.parts.compress.positions import entropy_bytes


def to_grid(
    values: Values, steps: int, ends: Positions, rng: np.random.Generator | None, scales: Values | None = None
) -> Grid:
    """Each value as a level of its bucket's grid: one of the two next to it at random and without bias where `rng`
    is given, else the nearest. The scale is a bucket's largest magnitude unless `scales` says another."""
    ends = np.unique(ends[ends > 0])  # without empty buckets
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    counts = ends - starts
    if scales is None:
        scales = np.maximum.reduceat(np.abs(values), starts) if values.size else np.empty(0, np.float32)
    scale = np.repeat(scales, counts).astype(np.float64)
    # where a level lies between two codes; a bucket of zeros has scale 0 and any code means 0
    level = (np.divide(values, scale, out=np.full(scale.size, -1.0), where=scale > 0) + 1) / 2 * steps
    low = np.floor(level)
    up = rng.random(level.size) < level - low if rng is not None else level - low >= 0.5
    return Grid(np.clip(low + up, 0, steps).astype(np.uint8), scales, ends, steps)


def without_zeros(size: int, coded: Grid) -> Update:
    """The codes of a whole vector, on a grid of an even number of steps, without those of zeros; all of them where
    that is estimated to take fewer bits. A bucket that has nothing left goes with its scale."""
    middle = coded.steps // 2
    codes = np.where(np.repeat(coded.scales, coded.counts) > 0, coded.codes, middle).astype(np.uint8)
    positions = np.flatnonzero(codes != middle)
    if size * coded.bits < positions.size * coded.bits + 8 * entropy_bytes(size, positions.size):
        full = replace(coded, codes=codes)
        return Update(size, all_positions(size), full.values(), full)
    ends = np.searchsorted(positions, coded.ends)
    filled = np.diff(ends, prepend=0) > 0
    sparse = replace(coded, codes=codes[positions], scales=coded.scales[filled], ends=ends[filled])
    return Update(size, positions, sparse.values(), sparse)
