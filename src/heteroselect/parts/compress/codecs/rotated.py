"""Values as points of a grid of the rotated vector: no positions, but the seed of the rotation.

The bytes are those of a grid, a bucket per block, with the seed (u64) and the exponent (u8) of the rotation between its
buckets and its codes. Behind them are the last N mod 16 coordinates, which are not rotated, as float32. (Kind 4 has no
such tail: all coordinates are rotated. It is written where 16 divides N, and older versions wrote it always.)
"""

import struct
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.core.update import Positions, Update, Values
from heteroselect.parts.compress.codecs.bits import pack
from heteroselect.parts.compress.codecs.codec import Codec, Head
from heteroselect.parts.compress.codecs.grid import Grid, read
from heteroselect.parts.compress.rotation import LARGEST, Rotation, tail

_ROTATION = struct.Struct("<QB")


@dataclass(frozen=True)
class Rotated:
    """The grid of the first coordinates of each block of the rotated vector, a bucket per block; and the coordinates
    behind them, which are not rotated."""

    grid: Grid
    rotation: Rotation
    tail: Values

    @property
    def codec(self) -> Codec:
        return TAILED if self.tail.size else ROTATED

    def values(self) -> Values:
        """All coordinates of the vector, rotated back."""
        turned = self.rotation.back(self.rotation.spread(self.grid.values(), self.grid.counts))
        return np.concatenate([turned, self.tail]) if self.tail.size else turned


@dataclass(frozen=True)
class RotatedCodec:
    """The codec of `Rotated`, with or without a tail."""

    tailed: bool
    whole: ClassVar[bool] = True

    @property
    def code(self) -> int:
        return 5 if self.tailed else 4

    def pack(self, update: Update) -> tuple[Head, bytes]:
        coded = update.coded
        assert isinstance(coded, Rotated)
        grid, rotation = coded.grid, coded.rotation
        head = Head(update.size, grid.codes.size, grid.steps, grid.ends.size)
        seed = _ROTATION.pack(rotation.seed, rotation.exponent)
        return head, grid.buckets() + seed + pack(grid.codes, grid.bits) + coded.tail.astype("<f4").tobytes()

    def unpack(self, head: Head, data: memoryview) -> tuple[Values, Rotated]:
        rest = tail(head.size) if self.tailed else 0
        end = len(data) - 4 * rest
        if end < 0 or (self.tailed and not rest):
            raise ValueError("the payload's tail is not of this vector")
        grid, seed = read(head, data[:end], _ROTATION.size)
        last = np.frombuffer(data[end:], "<f4").astype(np.float32)
        coded = Rotated(grid, _rotation(seed, head.size - rest, grid.counts), last)
        return coded.values(), coded


def _rotation(data: memoryview, size: int, counts: Positions) -> Rotation:
    seed, exponent = _ROTATION.unpack(data)
    if exponent > LARGEST or len(counts) != (size >> exponent) + (size & (1 << exponent) - 1).bit_count():
        raise ValueError("the payload's rotation is not of this vector")
    rotation = Rotation(size, seed, exponent)
    if (counts > rotation.blocks).any():
        raise ValueError("the payload has more of a block than there is")
    return rotation


ROTATED = RotatedCodec(tailed=False)
TAILED = RotatedCodec(tailed=True)
