"""Fewer bits than one per coordinate: signs of the largest coordinates of the rotated vector, without bias.

DRIVE and EDEN (Vargaftik et al., NeurIPS 2021 and ICML 2022) send a random part of the signs below one bit. To say
where the large coordinates are costs bits, too, but they buy more: for a normal vector and R bits per coordinate the
expected squared error over ‖x‖² is

    R                       1       0.5     0.25    0.1
    DRIVE, a share of R     0.571   2.14    5.28    14.7
    this                    0.534   1.61    3.75    9.93
    no unbiased coder less  0.333   1.00    2.41    6.73     1/(2^(2R) − 1)

Ternary values with entropy-coded zeros are old (they are the low-rate corner of entropy-coded scalar quantisation); our
own are the scale, which is DRIVE's, and the bits by energy.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import ClassVar, Literal

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Positions, Update, Values, all_positions, finite
from heteroselect.parts.compress.codecs.bits import Codes
from heteroselect.parts.compress.codecs.ternary import SMALLEST, Order, Signs
from heteroselect.parts.compress.context import FORGETS, CompressContext
from heteroselect.parts.compress.rotation import LARGEST, Rotation, longest, tail
from heteroselect.parts.compress.topk import top_positions

FEWEST = 8  # coordinates kept of a block: of so few that the rotation's rest of structure does not show
SCALE = 32  # bits
HALF = 1 << 15  # of a block: to keep more makes the error no smaller
LEVELS = np.rint(HALF / np.sqrt(2.0) ** np.arange(25)).astype(np.int64)  # shares that blocks choose from, over 2¹⁶


@dataclass(frozen=True)
class Ternary:
    """Sends less than a bit per coordinate without bias. The vector is rotated at random in blocks of 2^`exponent`, y =
    Rx. Of each block the largest |y| are sent as one scale ‖x‖²/Σ_kept|y| times their signs.

    Whatever the rotation, ⟨x, x̂⟩ = ‖x‖² in each block; and as the rotation treats all directions across x alike, what
    is left of x̂ is zero on average: E x̂ = x (exactly for a uniform rotation, nearly for the Hadamard transform). This
    holds block by block only: one scale for several blocks would make those of more energy too short.

    The density θ is in bits per coordinate, those of scales, positions and signs together. With `spread` energy all
    blocks pay one price per bit: the summed error is as small as θ allows, and blocks that hardly move get hardly any.
    What is kept of a block depends on its length alone, not on the rotation, so that this is without bias as well. A
    block that does not move at all is not sent, a tail of fewer than 16 coordinates is sent as it is, and a block of
    fewer than 256 (there are some at the end) sends all of its signs. Of any other block at least 8 coordinates are
    sent, so that θ below 0.0085 (blocks of 2¹⁴; 0.36 of 2⁸) saves no more bits. Header, rotation and tail come on top
    of θ, about a hundred bytes per upload: nothing beside a large model, and as much again for 8,000 coordinates at θ =
    0.1.

    Use when a fraction of a bit per coordinate is to be unbiased. Beware: header, rotation and tail weigh on small
    models, where `drive` or more bits do better.
    """

    kind: ClassVar[str] = "ternary"
    traits = Traits(brings={"error_feedback": FORGETS}, unbiased=True, own_values=True, wire_bits=1.0)

    exponent: int = setting(
        14,
        "power of two that is the length of a rotated block; header, rotation and the last N mod 16 values come "
        "on top of the density, about 100 bytes per upload",
        ge=SMALLEST,
        le=LARGEST,
    )
    spread: Literal["equal", "energy"] = setting(
        "equal", "bits per coordinate: the same for each block, or more for those that moved more"
    )

    def variance(self, density: float) -> float:
        """E‖x̂ − x‖²/‖x‖² at θ bits per coordinate, of blocks that get equal bits."""
        return _error(1 << self.exponent, density)

    def longest(self, size: int, density: float) -> int:
        return longest(size, self.exponent, density)

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        finite(v)
        turned = v.size - tail(v.size)
        rotation = Rotation(turned, int(context.rng.integers(2**63)), self.exponent)
        blocks, ends = rotation.blocks, np.cumsum(rotation.blocks)
        energies = np.add.reduceat(np.square(v[:turned], dtype=np.float64), ends - blocks)
        kept, classes = quotas(blocks, energies, density * turned, self.spread)
        y, order = rotation.turn(v[:turned]), Order(rotation, classes)
        positions = [np.empty(0, np.int64)]
        for block, before in zip(order.sparse, order.ends - blocks[order.sparse], strict=True):
            values = y[ends[block] - blocks[block] : ends[block]]
            positions.append(top_positions(np.abs(values), int(kept[block])) + before)
        sparse = np.concatenate(positions)
        places = np.concatenate([order.places(sparse), order.full])
        owners = np.searchsorted(ends, places, side="right")
        lengths = np.bincount(owners, np.abs(y[places]), blocks.size)
        scales = np.divide(energies, lengths, out=np.zeros(blocks.size), where=lengths > 0)[classes > 0]
        # a scale beyond float32 is cut; it would need a sum of squares that no model has
        scales = np.minimum(scales, np.finfo(np.float32).max).astype(np.float32)
        coded = Signs(rotation, classes, scales, sparse, (y[places] >= 0).astype(np.uint8), v[turned:].copy())
        return Update(v.size, all_positions(v.size), coded.values(), coded), {}


def quotas(blocks: Positions, energies: Reals, bits: float, spread: str) -> tuple[Positions, Codes]:
    """How many coordinates of each block are kept, for so many bits in all, and the class of each: 0 where nothing is
    sent, and the same where the same share is kept."""
    moved, small = energies > 0, blocks < 1 << SMALLEST
    kept, classes = np.where(moved, blocks, 0), moved.astype(np.uint8)
    left = bits - float((blocks[moved & small] + SCALE).sum())
    free = np.flatnonzero(moved & ~small)
    if free.size:
        share = equally(blocks[free], left)
        if spread == "energy":  # its shares are of a few levels, and of blocks that moved alike equal ones lose less
            both = (share, by_energy(blocks[free], energies[free], left))
            share = min(both, key=lambda one: error(blocks[free], energies[free], one))
        kept[free] = kept_of(blocks[free], share)
        classes[free] = np.unique(share, return_inverse=True)[1] + 1
    return kept, classes


def kept_of(block: Positions, share: Positions | int) -> Positions:
    """Of a block, for a share in parts of 2¹⁶."""
    kept: Positions = np.maximum(FEWEST, block * share >> 16)
    return kept


def equally(blocks: Positions, bits: float) -> Positions:
    """The largest share that all blocks can keep for so many bits."""
    sizes, counts = np.unique(blocks, return_counts=True)
    low, high = 0, HALF
    while low < high:
        share = (low + high + 1) // 2
        spent = sum(n * cost(int(b), int(k))[0] for b, n, k in zip(sizes, counts, kept_of(sizes, share), strict=True))
        low, high = (share, high) if spent <= bits else (low, share - 1)
    return np.full(blocks.size, low)


def by_energy(blocks: Positions, energies: Reals, bits: float) -> Positions:
    """The shares of the smallest summed error for so many bits: each block takes the one for which its error and the
    price of its bits are least, and the price is the lowest that all can pay (Lagrange's multiplier; the allocation
    that reverse water-filling is for the best of all coders)."""
    sizes, which = np.unique(blocks, return_inverse=True)
    table = np.array([[cost(int(b), int(k)) for k in kept_of(b, LEVELS)] for b in sizes])
    spent, errors = table[which, :, 0], table[which, :, 1] * energies[:, None]

    def chosen(price: float) -> tuple[Positions, bool]:
        levels = np.argmin(errors + price * spent, axis=1)
        return levels, float(spent[np.arange(levels.size), levels].sum()) <= bits

    low, high = 0.0, float(errors.max())  # at which nobody takes a bit more than has to be
    for _ in range(64):
        price = (low + high) / 2
        low, high = (low, price) if chosen(price)[1] else (price, high)
    shares: Positions = LEVELS[chosen(high)[0]]
    return shares


def error(blocks: Positions, energies: Reals, share: Positions) -> float:
    """The expected squared error of all blocks with these shares."""
    kept = kept_of(blocks, share)
    return math.fsum(e * cost(int(b), int(k))[1] for b, e, k in zip(blocks, energies.tolist(), kept, strict=True))


@lru_cache(maxsize=4096)
def _error(block: int, density: float) -> float:
    """What `cost` says of the share that a block keeps for this many bits per coordinate."""
    low, high = float(FEWEST), float(block * HALF >> 16)
    for _ in range(50):
        kept = (low + high) / 2
        low, high = (kept, high) if cost(block, kept)[0] <= density * block else (low, kept)
    return cost(block, low)[1]


@lru_cache(maxsize=4096)
def cost(block: int, kept: float) -> tuple[float, float]:
    """The bits that so many of a block take, and their expected squared error over the block's energy: a normal
    coordinate is kept where it is beyond t, with P(|y| > t) = p, and E|y|1{|y| > t} = 2φ(t), so that the error is
    p/(2φ(t))² − 1. Rounded, so that no machine's logarithm decides on a bit."""
    p = kept / block
    bits = kept - kept * math.log2(p) - (block - kept) * math.log2(1 - p) + SCALE
    density = NormalDist().pdf(NormalDist().inv_cdf(p / 2))
    return round(bits, 3), round(p / (2 * density) ** 2 - 1, 9)
