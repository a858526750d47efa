"""QSGD: each coordinate rounded at random to a few levels of its bucket's norm (Alistarh et al., NeurIPS 2017)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.core.part import check, setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values, finite
from heteroselect.parts.compress.codecs.grid import MOST_STEPS
from heteroselect.parts.compress.context import FORGETS, CompressContext
from heteroselect.parts.compress.grid import to_grid, without_zeros


@dataclass(frozen=True)
class QSGD:
    """Rounds at random: v_i becomes ‖v‖·sign(v_i)·ξ/s, where ξ is one of the two whole numbers next to s|v_i|/‖v‖, at
    random and without bias (Alistarh et al., NeurIPS 2017).

    s is `levels`, and ‖v‖ that of `bucket` coordinates b; the variance is at most min(b/s², √b/s)·‖v‖². The density
    is not looked at.

    Use when values of a few bits are to be unbiased. Beware: few levels in large buckets have a high variance.
    """

    kind: ClassVar[str] = "qsgd"
    traits = Traits(brings={"error_feedback": FORGETS}, unbiased=True, own_values=True, uses_density=False)

    levels: int = setting(4, "number of levels s on either side of zero", ge=1, le=MOST_STEPS // 2, tune=(1, 20, "log"))
    bucket: int = setting(512, "number of coordinates that share a norm", ge=1)

    def __post_init__(self) -> None:
        check(self)  # more levels than a code has room for would be sent as others, without an error

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        starts = np.arange(0, v.size, self.bucket)
        norms = np.sqrt(np.add.reduceat(np.square(finite(v), dtype=np.float64), starts))
        # a norm beyond float32 may be cut: no coordinate is larger than the largest float, so nothing is clipped
        scales = np.minimum(norms, np.finfo(np.float32).max).astype(np.float32)
        ends = np.minimum(starts + self.bucket, v.size)
        return without_zeros(v.size, to_grid(v, 2 * self.levels, ends, context.rng, scales)), {}
