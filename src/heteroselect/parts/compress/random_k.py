"""Random κ: which coordinates are sent is left to chance (Stich et al., NeurIPS 2018; Wangni et al., NeurIPS 2018)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values, finite, to_float32
from heteroselect.parts.compress.context import FORGETS, WITHOUT_DECAY, CompressContext, uniform
from heteroselect.parts.compress.topk import ROUNDING, Rounding, kept_count


@dataclass(frozen=True)
class RandomK:
    """Sends κ coordinates drawn evenly (Stich et al., NeurIPS 2018).

    As they are, the expected error is (1 − κ/N)‖v‖² and wants an error memory. `scaled` sends them times N/κ:
    without bias, with a variance of (N/κ − 1)‖v‖², and for use without a memory.

    Use when a simple unbiased compressor is wanted (`scaled`), or a control for top-κ. Beware: scaled, its variance
    grows as N/κ.
    """

    kind: ClassVar[str] = "random-k"

    rounding: Rounding = setting("ceil", ROUNDING)
    scaled: bool = setting(False, "whether what is kept is multiplied by N/κ, which makes it unbiased")

    @property
    def traits(self) -> Traits:
        memory = FORGETS if self.scaled else WITHOUT_DECAY
        return Traits(brings={"error_feedback": memory, "allocate": uniform(0.2)}, unbiased=self.scaled)

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        kept = kept_count(density, v.size, self.rounding)
        positions = np.sort(context.rng.choice(finite(v).size, kept, replace=False))
        update = Update.keep(v, positions)
        if self.scaled:
            update = Update(v.size, positions, to_float32(update.values.astype(np.float64) * (v.size / kept)))
        return update, {}
