"""An update as bytes: the only place that knows the format.

    magic "HSW" · version (u8) · vector size N (u32) · kept κ (u32) · value kind (u8) · steps of the grid (u8)
    · position code (u8) · buckets (u32) · length of the positions (u32) · CRC-32 of all the rest (u32)
    positions, in one of the codes of `positions`
    buckets of a grid: a count (u32) and a scale (float32) each
    of a rotated grid: seed (u64) and exponent (u8) of the rotation, of whose vector the κ codes are
    values: κ floats, or codes of a few bits side by side

Both engines send exactly these bytes and the ledger counts exactly their number. Decoding believes nothing: any
truncation, any flipped byte, any claim that the bytes do not bear out is a WireError, raised before anything
larger than a few times the honest update is allocated.
"""

import struct
import zlib
from collections.abc import Sequence

import numpy as np

from heteroselect.compress.positions import ALL, CodingError, decode_positions, encode_positions
from heteroselect.compress.rotation import LARGEST, Rotation
from heteroselect.compress.update import Positions, Update, Values, all_positions
from heteroselect.compress.values import Coded, code_bits, pack, packed_size, unpack

_HEADER = struct.Struct("<3sBIIBBBIII")
_FIELDS = struct.Struct("<IIBBBII")
_MAGIC, _VERSION = b"HSW", 1
_ROTATION = struct.Struct("<QB")
KINDS = ("float32", "float16", "bfloat16", "grid", "rotated")
GRIDS = ("grid", "rotated")


class WireError(ValueError):
    """A payload that is not a whole, valid update."""


def encode(update: Update, layers: Sequence[int] = ()) -> bytes:
    """`layers` are the ends of the model's layers; positions are coded layer by layer where that is smaller."""
    kind, steps, buckets, coded, kept = "float32", 0, b"", update.coded, update.positions.size
    rotation = coded.rotation if coded else None
    if rotation is None:
        code, positions = encode_positions(update.positions, update.size, layers or [update.size])
    else:
        code, positions = ALL, b""
    if coded is None:
        values = update.values.astype("<f4", copy=False).tobytes()
    else:
        kind, steps = coded.kind, coded.steps
        counts = np.diff(coded.ends, prepend=0)
        buckets = counts.astype("<u4").tobytes() + coded.scales.astype("<f4").tobytes()
        values, kept = pack(coded.codes, coded.bits), coded.codes.size
    if rotation is not None:
        values = _ROTATION.pack(rotation.seed, rotation.exponent) + values
    fields = (update.size, kept, KINDS.index(kind), steps, code, len(buckets) // 8, len(positions))
    header = _HEADER.pack(_MAGIC, _VERSION, *fields, _checksum(fields, positions, buckets, values))
    return b"".join((header, positions, buckets, values))


def decode(payload: bytes, size: int) -> Update:
    """The update in `payload`, or WireError: a vector of `size` is expected, finite and in order."""
    if len(payload) < _HEADER.size:
        raise WireError("the payload is shorter than its header")
    magic, version, *fields, crc = _HEADER.unpack_from(payload)
    claimed, kept, kind_code, steps, code, buckets, width = fields
    if magic != _MAGIC or version != _VERSION:
        raise WireError(f"the payload is not an update of version {_VERSION}")
    if claimed != size or kept > size or kind_code >= len(KINDS):
        raise WireError(f"the payload is not an update of {size} coordinates")
    kind = KINDS[kind_code]
    if (buckets > 0) != (kind in GRIDS and kept > 0) or buckets > kept or (steps > 0) != (kind in GRIDS):
        raise WireError("the payload's buckets do not fit its values")
    body = memoryview(payload)[_HEADER.size :]
    bits = 32 if kind == "float32" else code_bits(kind, steps)
    more = _ROTATION.size if kind == "rotated" else 0
    if len(body) != width + 8 * buckets + more + packed_size(kept, bits):
        raise WireError("the payload does not hold what its header claims")
    if _checksum(tuple(fields), body) != crc:
        raise WireError("the payload's checksum does not fit")
    if kind == "rotated":
        if width or code != ALL:
            raise WireError("the payload has positions where all of them count")
        positions = all_positions(size)
    else:
        try:
            positions = decode_positions(code, bytes(body[:width]), size, kept)
        except CodingError as error:
            raise WireError(f"the payload's positions are damaged: {error}") from error
    values, coded = _decode_values(body[width:], size, kept, kind, steps, buckets)
    if not np.isfinite(values).all():
        raise WireError("the payload holds a value that is not finite")
    return Update(size, positions, values, coded)


def _decode_values(
    data: memoryview, size: int, kept: int, kind: str, steps: int, buckets: int
) -> tuple[Values, Coded | None]:
    if kind == "float32":
        return np.frombuffer(data, "<f4").astype(np.float32), None
    counts = np.frombuffer(data[: 4 * buckets], "<u4").astype(np.int64)
    scales = np.frombuffer(data[4 * buckets : 8 * buckets], "<f4").astype(np.float32)
    if buckets and (int(counts.sum()) != kept or not np.isfinite(scales).all() or (scales < 0).any()):
        raise WireError("the payload's buckets do not fit its values")
    data, rotation = data[8 * buckets :], None
    if kind == "rotated":
        rotation, data = _rotation(data, size, counts), data[_ROTATION.size :]
    codes = unpack(data, kept, code_bits(kind, steps))
    if steps and codes.size and int(codes.max()) > steps:
        raise WireError("the payload holds a level beyond its grid")
    ends: Positions = np.cumsum(counts)
    if kind in GRIDS:
        coded = Coded("grid" if rotation is None else "rotated", codes, scales, ends, steps, rotation)
    else:
        coded = Coded("float16" if kind == "float16" else "bfloat16", codes, scales, ends)
    with np.errstate(over="ignore", invalid="ignore"):  # scales near the end of float32: looked at next
        return coded.values(), coded


def _rotation(data: memoryview, size: int, counts: Positions) -> Rotation:
    seed, exponent = _ROTATION.unpack_from(data)
    if exponent > LARGEST or len(counts) != (size >> exponent) + (size & (1 << exponent) - 1).bit_count():
        raise WireError("the payload's rotation is not of this vector")
    rotation = Rotation(size, seed, exponent)
    if (counts > rotation.blocks).any():
        raise WireError("the payload has more of a block than there is")
    return rotation


def _checksum(fields: tuple[int, ...], *body: bytes | memoryview) -> int:
    """Of the fields and the body, which may come in parts."""
    crc = zlib.crc32(_FIELDS.pack(*fields))
    for part in body:
        crc = zlib.crc32(part, crc)
    return crc
