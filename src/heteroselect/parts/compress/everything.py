"""Nothing is left out: the whole update is sent (FedAvg; McMahan et al., AISTATS 2017)."""

from dataclasses import dataclass
from typing import ClassVar

from heteroselect.core.part import FieldError
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values, all_positions, finite
from heteroselect.parts.compress.context import CompressContext


@dataclass(frozen=True)
class Everything:
    """Sends every coordinate as it is. An allocation of less than everything needs another compressor.

    Use when bytes do not matter, or as the control of compressors. Beware: uploads are as large as the model.
    """

    kind: ClassVar[str] = "none"
    traits = Traits(unbiased=True, uses_density=False, takes_memory=True)

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        if density < 1:
            raise FieldError("kind", f"none sends every coordinate; a density of {density:g} needs another kind: topk")
        return Update.keep(finite(v), all_positions(v.size)), {}
