"""What the kept values are sent as: floats of 32 or 16 bits, or a few bits each with a scale a bucket.

Whatever rounding loses is not lost: the update holds the values the server will see, and the error memory
keeps the difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heteroselect.compress.rotation import Rotation
from heteroselect.compress.update import Positions, Update, Values

Kind = Literal["float32", "float16", "bfloat16", "uniform2", "uniform3", "uniform4", "uniform8"]
Codes = NDArray[np.uint8] | NDArray[np.uint16]

FLOATS = ("float32", "float16", "bfloat16")
BITS: dict[str, int] = {
    "float32": 32,
    "float16": 16,
    "bfloat16": 16,
    "uniform2": 2,
    "uniform3": 3,
    "uniform4": 4,
    "uniform8": 8,
}
MOST_STEPS = 255  # of a grid: its codes fit a byte
LARGEST_HALF = np.float32(65504.0)


@dataclass(frozen=True)
class Coded:
    """Values as codes: floats of 16 bits, or points of a grid.

    A grid (`steps` > 0) has steps + 1 levels from −scale to +scale: one step is a sign, two are ternary, 2^b − 1 fill
    b bits. Bucket j holds the values up to number ends[j] and has scales[j]. Where it is `rotated`, the codes are of
    the first coordinates of each block of the rotated vector, a bucket a block.
    """

    kind: Literal["float16", "bfloat16", "grid", "rotated"]
    codes: Codes
    scales: Values
    ends: Positions
    steps: int = 0
    rotation: Rotation | None = None

    @property
    def bits(self) -> int:
        """Of one code."""
        return code_bits(self.kind, self.steps)

    def values(self) -> Values:
        """The numbers the codes stand for."""
        if self.kind == "float16":
            return self.codes.view(np.float16).astype(np.float32)
        if self.kind == "bfloat16":
            return (self.codes.astype(np.uint32) << 16).view(np.float32)
        # scale · (2 code − steps) / steps: code 0 is −scale, the highest code +scale and the middle of an even number
        # of steps 0, all exactly
        values = self.codes.astype(np.float32)
        values *= np.float32(2)
        values -= np.float32(self.steps)
        values /= np.float32(self.steps)
        sent = np.diff(self.ends, prepend=0)
        values *= np.repeat(self.scales, sent)
        return values if self.rotation is None else self.rotation.back(self.rotation.spread(values, sent))


@dataclass(frozen=True)
class ValueCoding:
    """How kept values are sent. `bucket` values share a scale, 0: those of a layer do. Rounding `random` is
    without bias, `nearest` has the smaller error."""

    kind: Kind = "float32"
    bucket: int = 0
    rounding: Literal["random", "nearest"] = "random"

    @property
    def bits(self) -> int:
        """Of one value."""
        return BITS[self.kind]

    def apply(self, update: Update, layers: Sequence[int], rng: np.random.Generator) -> Update:
        """The update with the values that the server will see."""
        kept = update.positions.size
        if self.bucket:
            ends = np.minimum(np.arange(self.bucket, kept + self.bucket, self.bucket), kept)
        else:
            ends = np.searchsorted(update.positions, layers)
        coded = encode_values(update.values, self.kind, ends, rng if self.rounding == "random" else None)
        return update if coded is None else Update(update.size, update.positions, coded.values(), coded)


def encode_values(values: Values, kind: Kind, ends: Positions, rng: np.random.Generator | None = None) -> Coded | None:
    """Codes for `values`, or None for float32, which needs none.

    The uniform kinds round at random and without bias where `rng` is given, else to the nearest level.
    """
    nothing = np.empty(0, np.float32)
    if kind == "float32":
        return None
    if kind == "float16":
        clipped = np.clip(values, -LARGEST_HALF, LARGEST_HALF)
        return Coded(kind, clipped.astype(np.float16).view(np.uint16), nothing, ends[:0])
    if kind == "bfloat16":
        return Coded(kind, _bfloat16(values), nothing, ends[:0])
    return to_grid(values, (1 << BITS[kind]) - 1, ends, rng)


def code_bits(kind: str, steps: int) -> int:
    return 16 if kind in FLOATS else steps.bit_length()


def _bfloat16(values: Values) -> NDArray[np.uint16]:
    """The upper half of a float32, rounded to the nearest, ties to even; never up to infinity."""
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    largest = np.where(bits >> 31 == 1, 0xFF7F, 0x7F7F)
    return np.where((rounded & 0x7FFF) >= 0x7F80, largest, rounded).astype(np.uint16)


def to_grid(
    values: Values, steps: int, ends: Positions, rng: np.random.Generator | None, scales: Values | None = None
) -> Coded:
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
    return Coded("grid", np.clip(low + up, 0, steps).astype(np.uint8), scales, ends, steps)


def pack(codes: Codes, bits: int) -> bytes:
    """Codes of `bits` bits each, side by side, the upper bits first. Eight codes fill `bits` bytes, whatever `bits`:
    they are gathered in a word of 64 bits, of which the lower `bits` bytes are sent."""
    if bits == 16:
        return codes.astype("<u2").tobytes()
    if bits == 8:
        return codes.astype(np.uint8).tobytes()
    eights = np.zeros((-(-codes.size // 8), 8), np.uint8)
    eights.reshape(-1)[: codes.size] = codes
    words = np.zeros(len(eights), np.uint64)
    for column in eights.T:
        words <<= np.uint64(bits)
        words |= column
    packed = words.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - bits :]
    return packed.tobytes()[: packed_size(codes.size, bits)]


def unpack(data: bytes | memoryview, count: int, bits: int) -> Codes:
    if bits == 16:
        return np.frombuffer(data, "<u2").astype(np.uint16)
    raw = np.frombuffer(data, np.uint8)
    if bits == 8:
        return raw.copy()
    eights = -(-count // 8)
    whole = np.zeros(eights * bits, np.uint8)
    whole[: raw.size] = raw
    wide = np.zeros((eights, 8), np.uint8)
    wide[:, 8 - bits :] = whole.reshape(eights, bits)
    words = wide.view(">u8").ravel().astype(np.uint64)
    codes = np.empty((eights, 8), np.uint8)
    for place in range(7, -1, -1):
        codes[:, place] = words & np.uint64((1 << bits) - 1)
        words >>= np.uint64(bits)
    return codes.reshape(-1)[:count]


def packed_size(count: int, bits: int) -> int:
    return (count * bits + 7) // 8
