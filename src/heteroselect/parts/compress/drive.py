"""One bit per coordinate of the rotated vector, without bias.

Vargaftik, Ben-Basat, Portnoy, Mendelson, Ben-Itzhak, Mitzenmacher, "DRIVE: One-bit distributed mean estimation",
NeurIPS 2021; "EDEN: Communication-efficient and robust distributed mean estimation for federated learning", ICML 2022
(from which come the fewer bits than one).
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values, all_positions, finite
from heteroselect.parts.compress.codecs.grid import Grid
from heteroselect.parts.compress.codecs.rotated import Rotated
from heteroselect.parts.compress.context import FORGETS, CompressContext
from heteroselect.parts.compress.rotation import LARGEST, Rotation, longest, tail
from heteroselect.parts.compress.topk import kept_count


@dataclass(frozen=True)
class Drive:
    """Sends one bit per coordinate without bias. The vector is rotated at random in blocks of 2^`exponent`, y = Rx, and
    of each block a share θ of the signs is sent, with one scale ‖x‖²/‖y_sent‖₁: then ⟨x, x̂⟩ = ‖x‖² whatever the
    rotation, and x̂ is unbiased over rotations (exactly for a uniform one, nearly for the Hadamard transform).

    A tail of fewer than 16 coordinates is sent as it is: blocks of 2, 4 and 8 have so few rotations that the mean over
    them is off by up to a half.

    After the rotation no coordinate is better than another, so nobody has to be told which are sent: the first of
    each block are, and there are no position bytes. The expected squared error is (π/(2θ) − 1)‖x‖².

    Use when one bit or less per coordinate is to be unbiased without a memory. Beware: at low densities the variance
    grows as 1/θ.
    """

    kind: ClassVar[str] = "drive"
    traits = Traits(brings={"error_feedback": FORGETS}, unbiased=True, own_values=True, wire_bits=1.0)

    exponent: int = setting(12, "power of two that is the length of a rotated block", ge=4, le=LARGEST)

    def variance(self, density: float) -> float:
        """E‖x̂ − x‖²/‖x‖² = π/(2θ) − 1, as for a uniform rotation and large blocks."""
        return math.pi / (2 * density) - 1 if density > 0 else math.inf

    def longest(self, size: int, density: float) -> int:
        return longest(size, self.exponent, density)

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        finite(v)
        turned = v.size - tail(v.size)
        rotation = Rotation(turned, int(context.rng.integers(2**63)), self.exponent)
        blocks = rotation.blocks
        sent = np.array([kept_count(density, int(block), "ceil") for block in blocks], np.int64)
        ends = np.cumsum(sent)
        starts = np.cumsum(blocks) - blocks
        kept = rotation.pick(rotation.turn(v[:turned]), sent)
        squares = np.add.reduceat(np.square(v[:turned], dtype=np.float64), starts)
        lengths = np.add.reduceat(np.abs(kept).astype(np.float64), ends - sent)
        scales = np.divide(squares, lengths, out=np.zeros(len(blocks)), where=lengths > 0)
        # a scale beyond float32 is cut; it would need a sum of squares that no model has
        scales = np.minimum(scales, np.finfo(np.float32).max).astype(np.float32)
        coded = Rotated(Grid((kept >= 0).astype(np.uint8), scales, ends, steps=1), rotation, v[turned:].copy())
        return Update(v.size, all_positions(v.size), coded.values(), coded), {}
