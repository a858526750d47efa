"""Codes of a few bits, side by side."""

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8] | NDArray[np.uint16]


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
    """The codes in `data`, which is as long as `packed_size` says."""
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
    """Bytes that `count` codes take."""
    return (count * bits + 7) // 8
