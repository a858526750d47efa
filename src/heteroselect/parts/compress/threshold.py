"""Gradient dropping: all above a threshold that a sample gives (Aji & Heafield, EMNLP 2017)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values, finite
from heteroselect.parts.compress.context import WITHOUT_DECAY, CompressContext, uniform
from heteroselect.parts.compress.topk import kept_count, top_positions

SAMPLE = 0.01  # share of the coordinates that the threshold is estimated from, and the fewest
FEWEST = 1000


@dataclass(frozen=True)
class Threshold:
    """Sends the coordinates at or above the (1 − density)-quantile of |v| in a random sample (Aji & Heafield, EMNLP
    2017).

    Top-κ without looking for the κ largest of all: the number kept is about κ = ⌈θN⌉, at least one and at most 2κ.
    The sample is of a hundredth of the coordinates, and of 1000 at least. Wants an error memory.

    Use when a model is so large that finding its top κ takes long. Beware: the number sent is only about κ.
    """

    kind: ClassVar[str] = "threshold"
    traits = Traits(brings={"error_feedback": WITHOUT_DECAY, "allocate": uniform(0.01)})

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        magnitudes = np.abs(finite(v))
        kept = kept_count(density, v.size)
        above = np.flatnonzero((magnitudes >= threshold(magnitudes, density, context.rng)) & (magnitudes > 0))
        if not 1 <= above.size <= 2 * kept:
            above = top_positions(magnitudes, 2 * kept if above.size else 1)
        return Update.keep(v, above), {}


def threshold(magnitudes: Values, density: float, rng: np.random.Generator) -> float:
    """The quantile of a sample."""
    if density >= 1:
        return 0.0
    drawn = min(max(math.ceil(SAMPLE * magnitudes.size), FEWEST), magnitudes.size)
    sample = magnitudes[rng.choice(magnitudes.size, drawn, replace=False)]
    return float(np.quantile(sample, 1 - max(density, 0.0)))
