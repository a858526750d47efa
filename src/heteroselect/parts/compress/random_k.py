"""Random κ: which coordinates are sent is left to chance (Stich et al., NeurIPS 2018)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values, finite
from heteroselect.parts.compress.context import WITHOUT_DECAY, CompressContext, uniform
from heteroselect.parts.compress.topk import kept_count


@dataclass(frozen=True)
class RandomK:
    """Sends κ coordinates drawn evenly, as they are (Stich et al., NeurIPS 2018): the expected error is (1 − κ/N)‖v‖².

    Use when a control for top-κ is wanted. Beware: it is biased, so that the error memory is needed; `wangni` is random
    and unbiased.
    """

    kind: ClassVar[str] = "random-k"
    traits = Traits(brings={"error_feedback": WITHOUT_DECAY, "allocate": uniform(0.2)})

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        kept = kept_count(density, v.size)
        return Update.keep(v, np.sort(context.rng.choice(finite(v).size, kept, replace=False))), {}
