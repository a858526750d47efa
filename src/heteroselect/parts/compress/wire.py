"""An update as bytes: the only place that knows the header.

    magic "HSW" · version (u8) · vector size N (u32) · kept κ (u32) · kind of the values (u8) · steps of the grid (u8)
    · position code (u8) · buckets (u32) · length of the positions (u32) · CRC-32 of all the rest (u32)
    positions, in one of the codes of `positions`
    values, as the codec of their kind packs them

Both engines send exactly these bytes and the ledger counts exactly their number. Decoding believes nothing: any
truncation, any flipped byte, any claim that the bytes do not bear out is a WireError, raised before anything
larger than a few times the honest update is allocated.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from heteroselect.core.update import Update, Values, all_positions
from heteroselect.parts.compress.codecs.codec import OWN, Codec, Coded, Head
from heteroselect.parts.compress.codecs.float import FLOAT32, FLOATS
from heteroselect.parts.compress.codecs.grid import GRID
from heteroselect.parts.compress.codecs.rotated import ROTATED, TAILED
from heteroselect.parts.compress.codecs.ternary import TERNARY
from heteroselect.parts.compress.positions import ALL, decode_positions, encode_positions

_HEADER = struct.Struct("<3sBIIBBBIII")
_FIELDS = struct.Struct("<IIBBBII")
_MAGIC, _VERSION = b"HSW", 1

Table = Mapping[int, Codec]
TABLE: Table = MappingProxyType({codec.code: codec for codec in (*FLOATS, GRID, ROTATED, TAILED, TERNARY)})
"""The codecs of this package, by their kind byte."""


class WireError(ValueError):
    """A payload that is not a whole, valid update."""


def table_with(codec: Codec | None) -> Table:
    """The table with a compressor's own codec added; None adds nothing."""
    if codec is None:
        return TABLE
    if codec.code not in OWN:
        raise ValueError(f"the kind byte of a codec of one's own is {OWN.start} to {OWN.stop - 1}, not {codec.code}")
    return MappingProxyType({**TABLE, codec.code: codec})


def encode(update: Update, layers: Sequence[int] = ()) -> bytes:
    """The payload of the update. `layers` are the ends of the model's layers; positions are coded layer by layer where
    that is smaller."""
    codec = FLOAT32 if update.coded is None else update.coded.codec
    if TABLE.get(codec.code) is not codec:
        table_with(codec)  # refuses a kind byte that another codec has
    head, values = codec.pack(update)
    code, positions = ALL, b""
    if not codec.whole:
        code, positions = encode_positions(update.positions, update.size, layers or [update.size])
    fields = (update.size, head.kept, codec.code, head.steps, code, head.buckets, len(positions))
    header = _HEADER.pack(_MAGIC, _VERSION, *fields, _checksum(fields, positions, values))
    return b"".join((header, positions, values))


def decode(payload: bytes, size: int, codecs: Table = TABLE) -> Update:
    """The update in `payload`, or WireError: a vector of `size` is expected, finite and in order."""
    kept, kind, steps, code, buckets, width = _header(payload, size, codecs)
    body, codec = memoryview(payload)[_HEADER.size :], codecs[kind]
    if codec.whole and (width or code != ALL):
        raise WireError("the payload has positions where all of them count")
    # the values first: that their bytes are there bears out κ, before anything is allocated for positions
    values, coded = _values(codec, Head(size, kept, steps, buckets), body[width:])
    try:
        positions = all_positions(size) if codec.whole else decode_positions(code, bytes(body[:width]), size, kept)
    except ValueError as error:
        raise WireError(f"the payload's positions are damaged: {error}") from error
    return Update(size, positions, values, coded)


def _header(payload: bytes, size: int, codecs: Table) -> list[int]:
    """What the header says behind the vector's size, of a payload that is whole and for a vector of `size`."""
    if len(payload) < _HEADER.size:
        raise WireError("the payload is shorter than its header")
    magic, version, *fields, crc = _HEADER.unpack_from(payload)
    claimed, kept, kind, *_, width = fields
    if magic != _MAGIC or version != _VERSION:
        raise WireError(f"the payload is not an update of version {_VERSION}")
    if claimed != size or kept > size or kind not in codecs:
        raise WireError(f"the payload is not an update of {size} coordinates")
    if len(payload) < _HEADER.size + width:
        raise WireError("the payload does not hold what its header claims")
    if _checksum(tuple(fields), memoryview(payload)[_HEADER.size :]) != crc:
        raise WireError("the payload's checksum does not fit")
    return fields[1:]


def _values(codec: Codec, head: Head, data: memoryview) -> tuple[Values, Coded | None]:
    wanted = head.size if codec.whole else head.kept
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # scales near the end of float32: values are looked at below
            values, coded = codec.unpack(head, data)
        if not isinstance(values, np.ndarray) or values.dtype != np.float32 or values.shape != (wanted,):
            raise ValueError(f"{wanted} values of float32 were expected")
    except Exception as error:  # whatever a codec raises, the server goes on without this payload
        raise WireError(f"the payload's values are damaged: {error}") from error
    if not np.isfinite(values).all():
        raise WireError("the payload holds a value that is not finite")
    return values, coded


def _checksum(fields: tuple[int, ...], *body: bytes | memoryview) -> int:
    """Of the fields and the body, which may come in parts."""
    crc = zlib.crc32(_FIELDS.pack(*fields))
    for part in body:
        crc = zlib.crc32(part, crc)
    return crc
