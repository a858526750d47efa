"""What a compressor may look at beside the vector, what it may promise, and what several compressors bring along."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from heteroselect.state import Kept

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from heteroselect.flat import FlatModel

WITHOUT_DECAY = {"kind": "error", "decay": "static", "static": 1.0}
FORGETS = {"kind": "none"}


@dataclass(frozen=True)
class Scene:
    """The client's model after its steps, the loss of one more batch, what the compressor kept at this client last time
    (`state`), and randomness of its own."""

    model: "FlatModel"
    loss: Callable[[], "Tensor"]
    proximal: float
    warmup: bool
    rng: np.random.Generator
    generator: "torch.Generator"
    state: Kept = field(default_factory=dict)


def promises(compressor: object, promise: str) -> bool:
    """What a compressor says of itself: whether it is `unbiased` (right on average), has `own_values` (few-bit ones, so
    that `values` stays float32), `uses_density` (how much it sends follows the allocation), and `takes_memory` (its
    error shrinks with what is sent, so that a memory of it stays bounded). Of what it does not say the default holds:
    biased, values as they are, as many as allocated, and a memory unless it is unbiased."""
    if promise == "takes_memory":
        default = not promises(compressor, "unbiased")
    else:
        default = {"unbiased": False, "own_values": False, "uses_density": True}[promise]
    return bool(getattr(compressor, promise, default))


def uniform(average: float) -> Mapping[str, Any]:
    """The allocation of the same density to everybody."""
    return {"kind": "uniform", "average": average}
