"""Values as floats of 32 or 16 bits."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from heteroselect.core.update import Update, Values
from heteroselect.parts.compress.codecs.codec import Codec, Head

_LARGEST_HALF = np.float32(65504.0)


@dataclass(frozen=True)
class Halves:
    """Values as floats of 16 bits."""

    codec: "HalfCodec"
    codes: NDArray[np.uint16]

    def values(self) -> Values:
        return self.codec.wide(self.codes)


@dataclass(frozen=True)
class FloatCodec:
    """Values as they are, four bytes each."""

    code: ClassVar[int] = 0
    whole: ClassVar[bool] = False

    def pack(self, update: Update) -> tuple[Head, bytes]:
        return Head(update.size, update.positions.size), update.values.astype("<f4", copy=False).tobytes()

    def unpack(self, head: Head, data: memoryview) -> tuple[Values, None]:
        _expect(head, data, 4)
        return np.frombuffer(data, "<f4").astype(np.float32), None


@dataclass(frozen=True)
class HalfCodec:
    """Two bytes each: the halves of IEEE 754 (`brain` false), or the upper half of a float32 (bfloat16)."""

    brain: bool
    whole: ClassVar[bool] = False

    @property
    def code(self) -> int:
        return 2 if self.brain else 1

    def coded(self, values: Values) -> Halves:
        """The values as codes, cut where the format ends instead of becoming infinite."""
        if self.brain:
            return Halves(self, _bfloat16(values))
        clipped = np.clip(values, -_LARGEST_HALF, _LARGEST_HALF)
        return Halves(self, clipped.astype(np.float16).view(np.uint16))

    def wide(self, codes: NDArray[np.uint16]) -> Values:
        if self.brain:
            return (codes.astype(np.uint32) << 16).view(np.float32)
        return codes.view(np.float16).astype(np.float32)

    def pack(self, update: Update) -> tuple[Head, bytes]:
        coded = update.coded
        assert isinstance(coded, Halves)
        return Head(update.size, coded.codes.size), coded.codes.astype("<u2").tobytes()

    def unpack(self, head: Head, data: memoryview) -> tuple[Values, Halves]:
        _expect(head, data, 2)
        coded = Halves(self, np.frombuffer(data, "<u2").astype(np.uint16))
        return coded.values(), coded


def _expect(head: Head, data: memoryview, width: int) -> None:
    if head.steps or head.buckets:
        raise ValueError("the payload's buckets do not fit its values")
    if len(data) != width * head.kept:
        raise ValueError("the payload does not hold what its header claims")


def _bfloat16(values: Values) -> NDArray[np.uint16]:
    """The upper half of a float32, rounded to the nearest, ties to even; never up to infinity."""
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    largest = np.where(bits >> 31 == 1, 0xFF7F, 0x7F7F)
    return np.where((rounded & 0x7FFF) >= 0x7F80, largest, rounded).astype(np.uint16)


FLOAT32 = FloatCodec()
FLOAT16 = HalfCodec(brain=False)
BFLOAT16 = HalfCodec(brain=True)
FLOATS: tuple[Codec, ...] = (FLOAT32, FLOAT16, BFLOAT16)
