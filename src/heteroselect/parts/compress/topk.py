"""Top-κ: the coordinates of largest magnitude are sent (Stich et al., NeurIPS 2018; section III-D of the paper)."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Positions, Update, Values, all_positions
from heteroselect.parts.compress.context import WITHOUT_DECAY, CompressContext, uniform

Rounding = Literal["ceil", "floor"]
ROUNDING = "rounding of the number of kept coordinates: ⌈θN⌉ (the text) or ⌊θN⌋ (the authors' runs)"


@dataclass(frozen=True)
class TopK:
    """Sends the κ coordinates of largest magnitude, as they are (Stich et al., NeurIPS 2018).

    Use when updates are to be sparse and a memory keeps the rest. Beware: without an error memory small coordinates are
    never sent.
    """

    kind: ClassVar[str] = "topk"
    traits = Traits(brings={"error_feedback": WITHOUT_DECAY, "allocate": uniform(0.2)}, carries=("rounding",))

    rounding: Rounding = setting("ceil", ROUNDING)

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        return Update.keep(v, top_positions(np.abs(v), kept_count(density, v.size, self.rounding))), {}


def kept_count(density: float, size: int, rounding: Rounding = "ceil") -> int:
    """κ = ⌈θN⌉ (the text) or ⌊θN⌋ (the authors' runs), at least 1 and at most N.

    A product such as 0.07 · 100 = 7.000000000000001 means 7, hence the hair's breadth.
    """
    exact = density * size
    hair = 1e-12 * max(1.0, exact)
    count = math.ceil(exact - hair) if rounding == "ceil" else math.floor(exact + hair)
    return min(max(count, 1), size)


def top_positions(scores: Values, kept: int) -> Positions:
    """Positions of the `kept` largest scores, rising; among equals the lower index wins.

    >>> import numpy as np
    >>> top_positions(np.array([2, 5, 2, 1], np.float32), 2).tolist()
    [0, 1]
    """
    size = scores.size
    if not np.isfinite(scores).all():
        raise ValueError("a coordinate's score is not finite")
    if kept >= size:
        return all_positions(size)
    threshold = np.partition(scores, size - kept)[size - kept]
    mask = scores > threshold
    mask[np.flatnonzero(scores == threshold)[: kept - np.count_nonzero(mask)]] = True
    return np.flatnonzero(mask)
