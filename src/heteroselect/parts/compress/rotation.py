"""A random rotation that two sides agree on by a seed: signs at random, then the Hadamard transform of each block
(Ailon, Chazelle, "The fast Johnson–Lindenstrauss transform", SIAM J. Comput. 2009)."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from heteroselect.core.update import Positions, Values

LARGEST = 16  # exponent of a block
SHORTEST = 16  # coordinates of a block: shorter ones have too few signs to be drawn for coding without bias
TOGETHER = 1 << 17  # coordinates transformed at a time: long enough for whole vectors, short enough for the cache


@dataclass(frozen=True)
class Rotation:
    """R = (HD₂/√b)(HD₁/√b) on each block of b coordinates, with signs D at random. One transform leaves the traces of
    a vector with few large coordinates; after two a large block looks normal. Blocks are of 2^`exponent`, and
    what is left over at the end is cut into smaller powers of two, so that nothing is padded. R⁻¹ = Rᵀ."""

    size: int
    seed: int
    exponent: int = 12

    def __post_init__(self) -> None:
        if not 0 <= self.exponent <= LARGEST or not 0 <= self.seed < 2**64:
            raise ValueError(f"an exponent of 0 to {LARGEST} and a seed of 64 bits are allowed")

    @cached_property
    def blocks(self) -> Positions:
        """Their lengths.

        >>> Rotation(22, 0, 3).blocks.tolist()
        [8, 8, 4, 2]
        """
        whole, rest = divmod(self.size, 1 << self.exponent)
        smaller = [1 << place for place in range(self.exponent - 1, -1, -1) if rest >> place & 1]
        return np.array([1 << self.exponent] * whole + smaller, np.int64)

    def turn(self, v: Values) -> Values:
        first, second = _signs(self.seed, self.size)
        return self._transform(self._transform(v * first) * second)

    def back(self, y: Values) -> Values:
        first, second = _signs(self.seed, self.size)
        turned = self._transform(self._transform(y) * second)
        turned *= first
        return turned

    def pick(self, y: Values, sent: Positions) -> Values:
        """The first `sent` of each block, one after the other."""
        if np.array_equal(sent, self.blocks):
            return y
        return y[self._places(sent)]

    def spread(self, values: Values, sent: Positions) -> Values:
        """Back to their places, and zeros at all others."""
        if np.array_equal(sent, self.blocks):
            return values
        y = np.zeros(self.size, np.float32)
        y[self._places(sent)] = values
        return y

    def _places(self, sent: Positions) -> Positions:
        starts = np.cumsum(self.blocks) - self.blocks
        within = np.arange(int(sent.sum())) - np.repeat(np.cumsum(sent) - sent, sent)
        return np.repeat(starts, sent) + within

    def _transform(self, v: Values) -> Values:
        """The Hadamard transform of each block, over its root: all blocks of a length at once."""
        result = np.empty_like(v)
        width = 1 << self.exponent
        whole = self.size // width * width
        result[:whole] = _hadamard(v[:whole].reshape(-1, width)).reshape(-1)
        start = whole
        for block in self.blocks[whole // width :].tolist():
            result[start : start + block] = _hadamard(v[start : start + block].reshape(1, block))[0]
            start += block
        return result


def tail(size: int) -> int:
    """How many coordinates at the end of a vector are too few to be rotated, and are sent as they are."""
    return size % SHORTEST


def longest(size: int, exponent: int, density: float) -> int:
    """Bytes that no payload has more of that spends `density` bits per coordinate: twice these, and for each block its
    scale and the few coordinates of which it keeps at least, which are fewer than 256 bits; header and tail come on
    top.

    >>> longest(8192 + 1024 + 16 + 3, 12, 0.1)
    614
    """
    whole, rest = divmod(size - tail(size), 1 << exponent)
    return int(2 * density * size + 256 * (whole + rest.bit_count())) // 8 + 256


def _hadamard(rows: Values) -> Values:
    """Of each row. Sums and differences of whole columns, in an order that does not depend on the machine (a matrix
    product's would), for a few rows at a time, which stay in the cache."""
    count, width = rows.shape
    result, root = np.empty_like(rows), np.float32(1 / np.sqrt(width))
    some = max(1, min(count, TOGETHER // width))
    first, second = np.empty(width * some, np.float32), np.empty(width * some, np.float32)
    for start in range(0, count, some):
        part = rows[start : start + some]
        front, back = first[: part.size], second[: part.size]
        np.multiply(part.T, root, out=front.reshape(part.T.shape))
        half = 1
        while half < width:
            pairs, made = (one.reshape(-1, 2, half * len(part)) for one in (front, back))
            np.add(pairs[:, 0], pairs[:, 1], out=made[:, 0])
            np.subtract(pairs[:, 0], pairs[:, 1], out=made[:, 1])
            front, back, half = back, front, 2 * half
        result[start : start + some] = front.reshape(part.T.shape).T
    return result


@lru_cache(maxsize=2)
def _signs(seed: int, size: int) -> Values:
    """Twice ±1 for each coordinate. NumPy promises that the raw stream of a generator stays as it is."""
    words = np.random.PCG64(seed).random_raw(-(-2 * size // 64))
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), count=2 * size)
    signs = bits.astype(np.float32)
    signs *= 2
    signs -= 1
    signs.setflags(write=False)
    return signs.reshape(2, size)
