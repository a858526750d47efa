"""What a compressor may look at beside the vector, and what several compressors bring along."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from heteroselect.core.state import PartState
from heteroselect.core.update import Values

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from heteroselect.core.flat import FlatModel, Span

WITHOUT_DECAY = {"kind": "error", "decay": "static", "static": 1.0}
FORGETS = {"kind": "none"}


@dataclass(frozen=True)
class CompressContext:
    """The client's model after its steps, the loss of one more batch, what the compressor kept at this client last time
    (`state`), what its half at the server says (`told`), and randomness of its own."""

    model: "FlatModel"
    loss: Callable[[], "Tensor"]
    proximal: float
    warmup: bool
    rng: np.random.Generator
    generator: "torch.Generator"
    state: PartState = field(default_factory=dict)
    told: PartState = field(default_factory=dict)


@runtime_checkable
class Guided(Protocol):
    """A compressor with a half at the server, which says what nobody is to send and puts something in its place."""

    def told(self, state: PartState) -> PartState:
        """What goes down with the model, of the server's `state`; the ledger charges for it."""

    def share(self, state: PartState) -> float:
        """The part of an update that is sent by it."""

    def complete(
        self, state: PartState, aggregate: Values, weights: Values, tensors: "Sequence[Span]", rng: np.random.Generator
    ) -> tuple[PartState, Values]:
        """The server's new state, and the aggregate with what nobody sent. `weights` are the model's before this round,
        `tensors` its parameters of two or more dimensions."""


@runtime_checkable
class Measured(Protocol):
    """A compressor whose density counts bits, and which knows how long its payloads can be."""

    def longest(self, size: int, density: float) -> int:
        """Bytes that no honest payload of a vector of this size has more of."""


def uniform(average: float) -> Mapping[str, Any]:
    """The allocation of the same density to everybody."""
    return {"kind": "uniform", "average": average}
