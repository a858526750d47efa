"""Values as points of a grid: a few bits each, with a scale per bucket.

The bytes are a count (u32) and a scale (float32) per bucket, first all counts, and then the codes side by side.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.core.update import Positions, Update, Values
from heteroselect.parts.compress.codecs.bits import Codes, pack, packed_size, unpack
from heteroselect.parts.compress.codecs.codec import Codec, Head

MOST_STEPS = 255  # of a grid: its codes fit a byte


@dataclass(frozen=True)
class Grid:
    """A grid has steps + 1 levels from −scale to +scale: one step is a sign, two are ternary, 2^b − 1 fill b bits.
    Bucket j holds the values up to number ends[j] and has scales[j]."""

    codes: Codes
    scales: Values
    ends: Positions
    steps: int

    @property
    def codec(self) -> Codec:
        return GRID

    @property
    def bits(self) -> int:
        """Of one code."""
        return self.steps.bit_length()

    @property
    def counts(self) -> Positions:
        """How many values each bucket holds."""
        return np.diff(self.ends, prepend=0)

    def values(self) -> Values:
        """scale · (2 code − steps) / steps: code 0 is −scale, the highest code +scale and the middle of an even number
        of steps 0, all exactly."""
        values = self.codes.astype(np.float32)
        values *= np.float32(2)
        values -= np.float32(self.steps)
        values /= np.float32(self.steps)
        values *= np.repeat(self.scales, self.counts)
        return values

    def buckets(self) -> bytes:
        """Counts and scales."""
        return self.counts.astype("<u4").tobytes() + self.scales.astype("<f4").tobytes()


@dataclass(frozen=True)
class GridCodec:
    """The codec of `Grid`."""

    code: ClassVar[int] = 3
    whole: ClassVar[bool] = False

    def pack(self, update: Update) -> tuple[Head, bytes]:
        grid = update.coded
        assert isinstance(grid, Grid)
        head = Head(update.size, grid.codes.size, grid.steps, grid.ends.size)
        return head, grid.buckets() + pack(grid.codes, grid.bits)

    def unpack(self, head: Head, data: memoryview) -> tuple[Values, Grid]:
        grid, _ = read(head, data, 0)
        return grid.values(), grid


def read(head: Head, data: memoryview, between: int) -> tuple[Grid, memoryview]:
    """The grid in `data`, and the `between` bytes that stand between its buckets and its codes."""
    buckets = head.buckets
    if head.steps == 0 or buckets > head.kept or (buckets > 0) != (head.kept > 0):
        raise ValueError("the payload's buckets do not fit its values")
    bits, start = head.steps.bit_length(), 8 * buckets + between
    if len(data) != start + packed_size(head.kept, bits):
        raise ValueError("the payload does not hold what its header claims")
    counts = np.frombuffer(data[: 4 * buckets], "<u4").astype(np.int64)
    scales = np.frombuffer(data[4 * buckets : 8 * buckets], "<f4").astype(np.float32)
    if int(counts.sum()) != head.kept or not np.isfinite(scales).all() or (scales < 0).any():
        raise ValueError("the payload's buckets do not fit its values")
    codes = unpack(data[start:], head.kept, bits)
    if codes.size and int(codes.max()) > head.steps:
        raise ValueError("the payload holds a level beyond its grid")
    return Grid(codes, scales, np.cumsum(counts), head.steps), data[8 * buckets : start]


GRID = GridCodec()
