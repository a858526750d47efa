"""What the kept values are sent as: floats of 32 or 16 bits, or a few bits each with a scale per bucket.

What rounding loses stays with the client: the update holds the values the server will see, and the error memory
keeps the difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from heteroselect.core.part import setting
from heteroselect.core.update import Update, finite
from heteroselect.parts.compress.codecs import Coded
from heteroselect.parts.compress.codecs.float import BFLOAT16, FLOAT16, HalfCodec
from heteroselect.parts.compress.grid import to_grid


@dataclass(frozen=True)
class Float32:
    """Sends kept values as they are.

    Use when few coordinates are kept, or exactness matters. Beware: dense updates are large.
    """

    kind: ClassVar[str] = "float32"
    bits: ClassVar[int] = 32

    def apply(self, update: Update, layers: Sequence[int], rng: np.random.Generator) -> Update:
        """The update as it is, codes of the compressor's own included."""
        finite(update.values)
        return update


@dataclass(frozen=True)
class Float16:
    """Sends kept values as halves of IEEE 754, cut at ±65504.

    Use when values may be half as large with next to no loss. Beware: values beyond ±65504 are cut, and tiny ones
    become 0.
    """

    kind: ClassVar[str] = "float16"
    bits: ClassVar[int] = 16
    codec: ClassVar[HalfCodec] = FLOAT16

    def apply(self, update: Update, layers: Sequence[int], rng: np.random.Generator) -> Update:
        return _sent(update, self.codec.coded(finite(update.values)))


@dataclass(frozen=True)
class BFloat16(Float16):
    """Sends kept values as the upper half of a float32: all of its range, eight bits of precision.

    Use when values range widely and two bytes are enough. Beware: it has fewer digits than `float16`.
    """

    kind: ClassVar[str] = "bfloat16"
    codec: ClassVar[HalfCodec] = BFLOAT16


@dataclass(frozen=True)
class UniformValues:
    """Sends kept values as one of 2^bits levels between ± the largest magnitude of their layer.

    Use when kept values may be a few bits each. Beware: an outlier in a layer makes its other values coarse.
    """

    kind: ClassVar[str] = "uniform"

    bits: Literal[2, 3, 4, 8] = setting(4, "number of bits of a value")
    rounding: Literal["random", "nearest"] = setting(
        "random", "rounding: random is without bias, nearest has less error"
    )

    def apply(self, update: Update, layers: Sequence[int], rng: np.random.Generator) -> Update:
        ends = np.searchsorted(update.positions, layers)
        random = rng if self.rounding == "random" else None
        return _sent(update, to_grid(finite(update.values), (1 << self.bits) - 1, ends, random))


def _sent(update: Update, coded: Coded) -> Update:
    return replace(update, values=coded.values(), coded=coded)
