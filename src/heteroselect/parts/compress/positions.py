"""Where the kept values stand, in as few bytes as there is information in it.

Three codes: a bitmap and gap bytes, both through zstd, and gaps through an entropy coder (asymmetric numeral
systems; Duda 2013, by the library constriction). Gaps of a random mask are geometric; the coder's table is that
distribution, so it comes within a few bytes of log₂ C(N, κ). Layers may have densities of their own: then the coder
goes layer by layer.

An update takes the smallest code, with one exception: zstd is read several times faster than the coder, so its
smaller one is taken where it is within SLACK of what the coder is bound to need.
"""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heteroselect.core.update import Positions, all_positions

ALL, BITMAP, GAPS, ENTROPY = range(4)
SLACK = 1.015  # bytes that a faster code may take, for one of the coder
SPARSEST = {BITMAP: 16, GAPS: 64}  # coordinates per kept one; beyond it these codes are hopeless, and refused
SEGMENTS = 1024  # most stretches that are coded apart; a model of more layers has its positions coded together
TABLE = 4096  # largest table of the entropy coder; longer gaps send more low bits as they are
_SEGMENT = struct.Struct("<IIBH")
_COUNT = struct.Struct("<HI")

Ints = NDArray[np.int64]


class CodingError(ValueError):
    """Bytes that are no positions."""


@dataclass(frozen=True)
class Segment:
    """A stretch of the vector with one density: its length, how many of it are kept, and how its gaps are cut
    into `low` bits sent as they are and a rest, at most `most`, for the entropy coder."""

    size: int
    kept: int
    low: int
    most: int

    @property
    def coded(self) -> bool:
        """Nothing is left to say where none or all are kept."""
        return 0 < self.kept < self.size

    @property
    def low_bits(self) -> int:
        """How many are sent as they are."""
        return self.kept * self.low if self.coded else 0

    @property
    def possible(self) -> bool:
        """Whether an encoder could have written it: no gap is longer than what is left out."""
        return (
            self.kept <= self.size and self.low < 32 and self.most <= min(self.size - self.kept >> self.low, TABLE - 1)
        )

    def model(self) -> object:
        """The geometric distribution of a gap's upper part, made by products alone: the same on every machine.
        (The coder wants two symbols at least.)"""
        import constriction

        stay = 1.0 - self.kept / self.size
        for _ in range(self.low):
            stay *= stay
        table = np.cumprod(np.concatenate([[1.0], np.full(max(self.most, 1), stay)]))
        return constriction.stream.model.Categorical(np.maximum(table, 1e-12), perfect=False)


def encode_positions(positions: Positions, size: int, layers: Sequence[int]) -> tuple[int, bytes]:
    """A code that is fast and small enough, else the smallest; `layers` are the ends of the layers, which may be
    coded apart."""
    kept = positions.size
    if kept == size:
        return ALL, b""
    together, apart = entropy_bytes(size, kept), _apart(positions, layers)
    candidates = []
    if kept * SPARSEST[BITMAP] >= size:
        mask = np.zeros(size, np.bool_)
        mask[positions] = True
        candidates.append((BITMAP, _zstd(np.packbits(mask))))
    if kept * SPARSEST[GAPS] >= size:
        candidates.append((GAPS, _zstd(_gap_bytes(_gaps(positions)))))
    if not any(len(data) <= SLACK * min(together, apart) for _, data in candidates):
        candidates.append((ENTROPY, _encode_entropy(positions, [size] if together <= apart else layers)))
    return min(candidates, key=lambda code: len(code[1]))


def decode_positions(code: int, data: bytes, size: int, kept: int) -> Positions:
    """Rising positions below `size`, or CodingError. At most about 64 bytes per kept one are allocated."""
    if code in SPARSEST and kept * SPARSEST[code] < size:
        raise CodingError("so few positions are not sent in this code")
    if code == ALL:
        if data or kept != size:
            raise CodingError("all are kept, yet positions follow")
        return all_positions(size)
    if code == BITMAP:
        bits = np.unpackbits(_unzstd(data, (size + 7) // 8, (size + 7) // 8)).view(np.bool_)
        if bits[size:].any() or np.count_nonzero(bits) != kept:  # counted before eight bytes each are allocated
            raise CodingError("positions are missing or out of range")
        positions = np.flatnonzero(bits[:size])
    elif code == GAPS:
        positions = _from_gap_bytes(_unzstd(data, kept, kept + size // 255 + 1), kept)
    elif code == ENTROPY:
        positions = _decode_entropy(data, size, kept)
    else:
        raise CodingError(f"there is no position code {code}")
    if positions.size != kept or (kept and positions[-1] >= size):
        raise CodingError("positions are missing or out of range")
    return positions


def entropy_bytes(size: int, kept: int) -> float:
    """log₂ C(N, κ)/8: what a random mask cannot be sent in less than."""
    if not 0 < kept < size:
        return 0.0
    logs = math.lgamma(size + 1) - math.lgamma(kept + 1) - math.lgamma(size - kept + 1)
    return logs / math.log(2) / 8


def _apart(positions: Positions, layers: Sequence[int]) -> float:
    """What the layers would take one by one, their table included."""
    if len(layers) > SEGMENTS:
        return math.inf
    starts = [0, *layers[:-1]]
    counts = np.diff(np.searchsorted(positions, [0, *layers]))
    shares = [entropy_bytes(end - start, int(k)) for start, end, k in zip(starts, layers, counts, strict=True)]
    return sum(shares) + _SEGMENT.size * len(layers)


def _encode_entropy(positions: Positions, ends: Sequence[int]) -> bytes:
    import constriction

    bounds = np.searchsorted(positions, [0, *ends])
    segments, uppers, lowers = [], [], []
    start = 0
    for number, end in enumerate(ends):
        gaps = _gaps(positions[bounds[number] : bounds[number + 1]], start)
        segment = _cut(end - start, gaps)
        segments.append(segment)
        if segment.coded:
            uppers.append((gaps >> segment.low).astype(np.int32))
            lowers.append(_low_bits(gaps, segment.low))
        start = end
    coder = constriction.stream.stack.AnsCoder()
    coded = [segment for segment in segments if segment.coded]
    for segment, upper in zip(reversed(coded), reversed(uppers), strict=True):  # a stack: last in, first out
        coder.encode_reverse(upper, segment.model())
    words = coder.get_compressed()
    table = b"".join(_SEGMENT.pack(s.size, s.kept, s.low, s.most) for s in segments)
    bits = np.packbits(np.concatenate(lowers)) if lowers else np.empty(0, np.uint8)
    packed: bytes = np.asarray(words, "<u4").tobytes()
    return _COUNT.pack(len(segments), len(words)) + table + packed + bits.tobytes()


def _decode_entropy(data: bytes, size: int, kept: int) -> Positions:
    import constriction

    segments, words, raw = _parse_entropy(data, size, kept)
    try:
        coder = constriction.stream.stack.AnsCoder(words)
    except ValueError as error:
        raise CodingError("the entropy coder's words are not its own") from error
    bits = np.unpackbits(raw)
    parts, start, used = [], 0, 0
    for segment in segments:
        if segment.coded:
            upper = coder.decode(segment.model(), segment.kept)
            gaps = _with_low_bits(upper, bits[used : used + segment.low_bits], segment.low)
            used += segment.low_bits
            if gaps.sum(dtype=np.float64) + segment.kept > segment.size:  # a sum of integers could wrap around
                raise CodingError("a position is out of range")
            gaps += 1
            found = np.cumsum(gaps, dtype=np.int64)
            found += start - 1
            parts.append(found)
        elif segment.kept:
            parts.append(np.arange(start, start + segment.size))
        start += segment.size
    if not coder.is_empty():
        raise CodingError("more was coded than the positions claimed")
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int64), *parts])


def _parse_entropy(data: bytes, size: int, kept: int) -> tuple[list[Segment], NDArray[np.uint32], NDArray[np.uint8]]:
    """The table of segments, checked against what the header claims before anything is allocated for them.

    A segment costs the decoder some 20 µs and an entry of its table some 10 ns. An encoder takes layers apart only
    where that saves more than the table of segments takes, and no gap is longer than what is left out of a segment:
    so there are few segments, and fewer entries than coordinates.
    """
    if len(data) < _COUNT.size:
        raise CodingError("the table of segments is missing")
    count, words = _COUNT.unpack_from(data)
    if count > SEGMENTS or (count > 1 and _SEGMENT.size * count > entropy_bytes(size, kept) + 1):
        raise CodingError("there are more segments than are worth coding apart")
    body = _COUNT.size + count * _SEGMENT.size
    if len(data) < body + 4 * words:
        raise CodingError("the table of segments is cut short")
    segments = [Segment(*_SEGMENT.unpack_from(data, _COUNT.size + i * _SEGMENT.size)) for i in range(count)]
    if (
        not all(s.possible for s in segments)
        or sum(s.size for s in segments) != size
        or sum(s.kept for s in segments) != kept
    ):
        raise CodingError("the table of segments does not fit the header")
    raw = np.frombuffer(data, np.uint8, offset=body + 4 * words)
    if raw.size != (sum(s.low_bits for s in segments) + 7) // 8:
        raise CodingError("low bits are missing or left over")
    return segments, np.frombuffer(data, "<u4", count=words, offset=body).astype(np.uint32), raw


def _cut(size: int, gaps: Ints) -> Segment:
    """Low bits so that the upper part has a mean of about 32 at most and fits the table."""
    if not 0 < gaps.size < size:
        return Segment(size, gaps.size, 0, 0)
    low = max(0, math.floor(math.log2(size / gaps.size / 32)))
    longest = int(gaps.max())
    while longest >> low >= TABLE:
        low += 1
    return Segment(size, gaps.size, low, longest >> low)


def _low_bits(gaps: Ints, low: int) -> NDArray[np.uint8]:
    bits = np.empty((gaps.size, low), np.uint8)
    for place in range(low):
        bits[:, place] = (gaps >> (low - 1 - place)) & 1
    return bits.ravel()


def _with_low_bits(upper: NDArray[np.int32], bits: NDArray[np.uint8], low: int) -> NDArray[np.int32] | Ints:
    if low == 0:
        return upper
    gaps = upper.astype(np.int64)
    for column in bits.reshape(upper.size, low).T:
        gaps <<= 1
        gaps |= column
    return gaps


def _gaps(positions: Positions, start: int = 0) -> Ints:
    """How many are left out before each, beginning at `start`."""
    return np.diff(positions, prepend=start - 1) - 1


def _gap_bytes(gaps: Ints) -> NDArray[np.uint8]:
    """A gap as a byte; 255 means 255 and go on."""
    long = np.flatnonzero(gaps >= 255)
    if long.size == 0:
        return gaps.astype(np.uint8)
    more, last = np.divmod(gaps[long], 255)
    data = gaps.astype(np.uint8)  # the long ones are put right in the next line
    data[long] = last
    return np.insert(data, np.repeat(long, more), 255)


def _from_gap_bytes(data: NDArray[np.uint8], kept: int) -> Positions:
    last = data != 255
    if np.count_nonzero(last) != kept or not last[-1:].all():
        raise CodingError("gaps are missing or left over")
    positions = np.cumsum(data + last, dtype=np.int64)  # 254 + 1 still fits a byte, and 255 stays
    positions -= 1
    return positions if data.size == kept else positions[last]


def _zstd(data: NDArray[np.uint8]) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=1).compress(data.data)  # higher levels gain nothing on noise


def _unzstd(data: bytes, least: int, most: int) -> NDArray[np.uint8]:
    """Decompress, after looking at the size the frame announces: a bomb is refused before it goes off."""
    import zstandard

    try:
        announced = zstandard.frame_content_size(data)
        if not least <= announced <= most:
            raise CodingError("a compressed block announces a size that cannot be")
        whole = zstandard.ZstdDecompressor().decompress(data, max_output_size=most, allow_extra_data=False)
        return np.frombuffer(whole, np.uint8)
    except zstandard.ZstdError as error:
        raise CodingError(f"a compressed block is damaged ({error})") from error
