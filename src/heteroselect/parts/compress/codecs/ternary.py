"""Signs of the largest coordinates of the rotated vector, with their places close to their entropy.

The bytes are the seed (u64) and the exponent (u8) of the rotation, the position code (u8), the class of each block side
by side, a scale (float32) per block that is sent, positions, a sign per kept coordinate (a bit, one is +), and the last
N mod 16 coordinates as they are (float32). The header's κ counts the signs, its steps are the highest class, its
buckets the bytes of the positions.

Blocks of class 0 are not sent. Positions are those in a vector of all others, sorted by class: blocks of one class are
kept to the same density, so that the position coder has one segment per class. A block of fewer than 256 coordinates
has no positions; all of its signs are sent, behind the others.
"""

import struct
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from heteroselect.core.update import Positions, Update, Values
from heteroselect.parts.compress.codecs.bits import Codes, pack, packed_size, unpack
from heteroselect.parts.compress.codecs.codec import Codec, Head
from heteroselect.parts.compress.positions import decode_positions, encode_positions
from heteroselect.parts.compress.rotation import LARGEST, Rotation, tail

SMALLEST = 8  # exponent: smaller blocks than 256 are sent whole, and are only what is left over at the end
_ROTATION = struct.Struct("<QBB")


@dataclass(frozen=True)
class Order:
    """Where the blocks that are sent stand, sorted by class: what both sides know from classes and rotation."""

    rotation: Rotation
    classes: Codes

    @cached_property
    def starts(self) -> Positions:
        """Of all blocks."""
        return np.cumsum(self.rotation.blocks) - self.rotation.blocks

    @cached_property
    def sparse(self) -> Positions:
        """The blocks that have positions, sorted by class."""
        large = np.flatnonzero((self.rotation.blocks >= 1 << SMALLEST) & (self.classes > 0))
        return large[np.argsort(self.classes[large], kind="stable")]

    @cached_property
    def full(self) -> Positions:
        """The coordinates of the small blocks that are sent."""
        small = np.flatnonzero((self.rotation.blocks < 1 << SMALLEST) & (self.classes > 0))
        ranges = (np.arange(self.rotation.blocks[i]) + self.starts[i] for i in small)
        return np.concatenate([np.empty(0, np.int64), *ranges])

    @cached_property
    def ends(self) -> Positions:
        """Of the blocks that have positions, one after the other."""
        return np.cumsum(self.rotation.blocks[self.sparse])

    @property
    def size(self) -> int:
        return int(self.ends[-1]) if self.ends.size else 0

    def segments(self) -> list[int]:
        """The ends of the classes."""
        last = np.diff(self.classes[self.sparse], append=0) != 0
        return [int(end) for end in self.ends[last]]

    def places(self, positions: Positions) -> Positions:
        """Where in the rotated vector the positions are."""
        block = np.searchsorted(self.ends, positions, side="right")
        shift = self.starts[self.sparse] - self.ends + self.rotation.blocks[self.sparse]
        return positions + shift[block]


@dataclass(frozen=True)
class Signs:
    """Signs at `positions` (as `Order` counts) and of the small blocks, times the scale of their block."""

    rotation: Rotation
    classes: Codes
    scales: Values
    positions: Positions
    signs: Codes
    tail: Values

    @property
    def codec(self) -> Codec:
        return TERNARY

    def values(self) -> Values:
        """All coordinates of the vector, rotated back."""
        order = Order(self.rotation, self.classes)
        y = np.zeros(self.rotation.size, np.float32)
        y[np.concatenate([order.places(self.positions), order.full])] = 2 * self.signs.astype(np.float32) - 1
        scales = np.zeros(self.classes.size, np.float32)
        scales[self.classes > 0] = self.scales
        y *= np.repeat(scales, self.rotation.blocks)
        return np.concatenate([self.rotation.back(y), self.tail])


@dataclass(frozen=True)
class TernaryCodec:
    """The codec of `Signs`."""

    code: ClassVar[int] = 6
    whole: ClassVar[bool] = True

    def pack(self, update: Update) -> tuple[Head, bytes]:
        coded = update.coded
        assert isinstance(coded, Signs)
        rotation, steps = coded.rotation, int(coded.classes.max(initial=0))
        order = Order(rotation, coded.classes)
        code, positions = encode_positions(coded.positions, order.size, order.segments())
        parts = (
            _ROTATION.pack(rotation.seed, rotation.exponent, code),
            pack(coded.classes, steps.bit_length()),
            coded.scales.astype("<f4").tobytes(),
            positions,
            pack(coded.signs, 1),
            coded.tail.astype("<f4").tobytes(),
        )
        return Head(update.size, coded.signs.size, steps, len(positions)), b"".join(parts)

    def unpack(self, head: Head, data: memoryview) -> tuple[Values, Signs]:
        if len(data) < _ROTATION.size:
            raise ValueError("the payload's rotation is missing")
        seed, exponent, code = _ROTATION.unpack_from(data)
        if not SMALLEST <= exponent <= LARGEST:
            raise ValueError("the payload's rotation is not one of this code")
        rest = tail(head.size)
        rotation = Rotation(head.size - rest, seed, exponent)
        bits, blocks = head.steps.bit_length(), rotation.blocks.size
        start = _ROTATION.size + packed_size(blocks, bits)
        if len(data) < start:
            raise ValueError("the payload's classes are cut short")
        classes = unpack(data[_ROTATION.size : start], blocks, bits)
        order, sent = Order(rotation, classes), int(np.count_nonzero(classes))
        cuts = np.cumsum([start, 4 * sent, head.buckets, packed_size(head.kept, 1), 4 * rest]).tolist()
        if classes.max(initial=0) != head.steps or cuts[-1] != len(data) or head.kept < order.full.size:
            raise ValueError("the payload does not hold what its header claims")
        scales, positions, signs, last = (data[a:b] for a, b in pairwise(cuts))
        coded = Signs(
            rotation,
            classes,
            np.frombuffer(scales, "<f4").astype(np.float32),
            decode_positions(code, bytes(positions), order.size, head.kept - order.full.size),
            unpack(signs, head.kept, 1),
            np.frombuffer(last, "<f4").astype(np.float32),
        )
        if not np.isfinite(coded.scales).all() or (coded.scales < 0).any():
            raise ValueError("the payload's scales cannot be")
        return coded.values(), coded


TERNARY = TernaryCodec()
