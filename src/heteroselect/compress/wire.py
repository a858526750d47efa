"""An update as bytes: the only place that knows the format.

    magic "HSU1" · vector size N (u32) · kept κ (u32) · position code (u8) · CRC-32 of all the rest (u32)
    positions: nothing where all are kept, else a bitmap of N bits or κ indices of 32 bits, whichever is less
    values: κ little-endian float32

Both engines send exactly these bytes and the ledger counts exactly their number.
"""

import struct
import zlib

import numpy as np

from heteroselect.compress.update import Update

_HEADER = struct.Struct("<4sIIBI")
_MAGIC = b"HSU1"
_ALL, _BITMAP, _INDICES = range(3)


class WireError(ValueError):
    """A payload that is not a whole, valid update."""


def encode(update: Update) -> bytes:
    size, kept = update.size, update.positions.size
    if kept == size:
        code, positions = _ALL, b""
    elif size < 32 * kept:
        mask = np.zeros(size, np.bool_)
        mask[update.positions] = True
        code, positions = _BITMAP, np.packbits(mask).tobytes()
    else:
        code, positions = _INDICES, update.positions.astype("<u4").tobytes()
    body = positions + update.values.astype("<f4").tobytes()
    return _HEADER.pack(_MAGIC, size, kept, code, _checksum(size, kept, code, body)) + body


def _checksum(size: int, kept: int, code: int, body: bytes | memoryview) -> int:
    return zlib.crc32(body, zlib.crc32(struct.pack("<IIB", size, kept, code)))


def decode(payload: bytes, size: int) -> Update:
    """The update in `payload`, or WireError: a vector of `size` is expected, finite and in order."""
    if len(payload) < _HEADER.size:
        raise WireError("the payload is shorter than its header")
    magic, claimed, kept, code, crc = _HEADER.unpack_from(payload)
    body = memoryview(payload)[_HEADER.size :]
    if magic != _MAGIC or claimed != size or kept > size:
        raise WireError(f"the payload is not an update of {size} coordinates")
    width = {_ALL: 0, _BITMAP: (size + 7) // 8, _INDICES: 4 * kept}.get(code)
    if width is None or len(body) != width + 4 * kept or (code == _ALL and kept != size):
        raise WireError("the payload does not hold what its header claims")
    if _checksum(size, kept, code, body) != crc:
        raise WireError("the payload's checksum does not fit")
    if code == _ALL:
        positions = np.arange(size, dtype=np.int64)
    elif code == _BITMAP:
        bits = np.unpackbits(np.frombuffer(body[:width], np.uint8), count=size)
        positions = np.flatnonzero(bits)
    else:
        positions = np.frombuffer(body[:width], "<u4").astype(np.int64)
    ordered = positions.size == kept and bool((np.diff(positions) > 0).all())
    if not ordered or (kept and positions[-1] >= size):
        raise WireError("the payload's positions are out of range or out of order")
    values = np.frombuffer(body[width:], "<f4").astype(np.float32)
    if not np.isfinite(values).all():
        raise WireError("the payload holds a value that is not finite")
    return Update(size, positions, values)
