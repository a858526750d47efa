"""What QSGD and TernGrad share: most of a coarse grid's codes say "zero", and need not be sent."""

from dataclasses import replace

import numpy as np

from heteroselect.compress.positions import entropy_bytes
from heteroselect.compress.update import Update, all_positions
from heteroselect.compress.values import Coded


def without_zeros(size: int, coded: Coded) -> Update:
    """The codes of a whole vector, on a grid of an even number of steps, without those of zeros; all of them where
    that is estimated to take fewer bits. A bucket that has nothing left goes with its scale."""
    middle = coded.steps // 2
    counts = np.diff(coded.ends, prepend=0)
    codes = np.where(np.repeat(coded.scales, counts) > 0, coded.codes, middle).astype(np.uint8)
    positions = np.flatnonzero(codes != middle)
    if size * coded.bits < positions.size * coded.bits + 8 * entropy_bytes(size, positions.size):
        full = replace(coded, codes=codes)
        return Update(size, all_positions(size), full.values(), full)
    ends = np.searchsorted(positions, coded.ends)
    filled = np.diff(ends, prepend=0) > 0
    sparse = replace(coded, codes=codes[positions], scales=coded.scales[filled], ends=ends[filled])
    return Update(size, positions, sparse.values(), sparse)
