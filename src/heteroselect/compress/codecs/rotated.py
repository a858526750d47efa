"""Values as points of a grid of the rotated vector: no positions, but the seed of the rotation.

The bytes are those of a grid, a bucket per block, with the seed (u64) and the exponent (u8) of the rotation between its
buckets and its codes.
"""

import struct
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.compress.codecs.bits import pack
from heteroselect.compress.codecs.codec import Codec, Head
from heteroselect.compress.codecs.grid import Grid, read
from heteroselect.compress.rotation import LARGEST, Rotation
from heteroselect.compress.update import Positions, Update, Values

_ROTATION = struct.Struct("<QB")


@dataclass(frozen=True)
class Rotated:
    """The grid of the first coordinates of each block of the rotated vector, a bucket per block."""

    grid: Grid
    rotation: Rotation

    @property
    def codec(self) -> Codec:
        return ROTATED

    def values(self) -> Values:
        """All coordinates of the vector, rotated back."""
        return self.rotation.back(self.rotation.spread(self.grid.values(), self.grid.counts))


@dataclass(frozen=True)
class RotatedCodec:
    """The codec of `Rotated`."""

    code: ClassVar[int] = 4
    whole: ClassVar[bool] = True

    def pack(self, update: Update) -> tuple[Head, bytes]:
        coded = update.coded
        assert isinstance(coded, Rotated)
        grid, rotation = coded.grid, coded.rotation
        head = Head(update.size, grid.codes.size, grid.steps, grid.ends.size)
        seed = _ROTATION.pack(rotation.seed, rotation.exponent)
        return head, grid.buckets() + seed + pack(grid.codes, grid.bits)

    def unpack(self, head: Head, data: memoryview) -> tuple[Values, Rotated]:
        grid, seed = read(head, data, _ROTATION.size)
        coded = Rotated(grid, _rotation(seed, head.size, grid.counts))
        with np.errstate(over="ignore", invalid="ignore"):  # scales near the end of float32: the wire looks at it next
            return coded.values(), coded


def _rotation(data: memoryview, size: int, counts: Positions) -> Rotation:
    seed, exponent = _ROTATION.unpack(data)
    if exponent > LARGEST or len(counts) != (size >> exponent) + (size & (1 << exponent) - 1).bit_count():
        raise ValueError("the payload's rotation is not of this vector")
    rotation = Rotation(size, seed, exponent)
    if (counts > rotation.blocks).any():
        raise ValueError("the payload has more of a block than there is")
    return rotation


ROTATED = RotatedCodec()
