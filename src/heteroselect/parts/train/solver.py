"""What a local solver is given, what it returns, and what it adds where it has a half at the server."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from heteroselect.core.messages import Order
from heteroselect.core.part import Requires, setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values

if TYPE_CHECKING:
    from torch import Tensor, nn

    from heteroselect.core.flat import Loss

    Batch = tuple[Tensor, Tensor]

EQUAL: Requires = {"local_steps": ("equal",), "lr": ("shared",), "weigh": ("uniform",), "aggregate": ("mean",)}
"""The kinds of other roles with which corrections of drift add up: all clients do the same and count the same."""

STEPS = ("steps", "batch")
"""The settings that a solver takes over from the one in whose place it comes."""


class Trainable(Protocol):
    """A flat model, or a matrix with one in each row: `vector` has all parameters, `gradient` their gradients, and
    `outputs` what the module gave for the last batch (a matrix keeps it where single losses are wanted)."""

    module: "nn.Module"
    vector: "Tensor"
    gradient: "Tensor"
    outputs: "Tensor"

    def backward(self, loss: "Loss", x: "Tensor", y: "Tensor") -> "Tensor":
        """Leaves the gradient of one batch in `gradient`, and returns the loss."""


@dataclass(frozen=True)
class Job:
    """One client's training in a round; or that of several, one per row of the model, with a rate and a state each.
    `shared` came down with the model. With `examples` the report squares the loss of each example, and not that of a
    batch. `labels` are those of all examples of a single client. With `noise` it says how much gradients differ."""

    loss: "Loss"
    batches: "Callable[[], Batch]"
    rates: Sequence[float]
    steps: int
    states: Sequence[PartState] = ({},)
    shared: PartState = field(default_factory=dict)
    examples: bool = False
    labels: "Tensor | None" = None
    noise: bool = False


@dataclass(frozen=True)
class Local:
    """The base of the solvers here: the settings that all have, which one takes over from the solver in its place."""

    traits = Traits(carries=STEPS)

    steps: int = setting(50, "number of local steps H", ge=1)
    batch: int = setting(32, "number of examples per local step", ge=1)


@dataclass(frozen=True)
class Trained:
    """The mean of the batches' losses, the root of their mean square (or of that of single examples), and where it is
    asked for the variance of their gradients over the squared length of the mean gradient; of each row where there are
    rows."""

    loss: "Tensor"
    rms: "Tensor"
    variance: "Tensor | None" = None

    def report(self, row: int | None = None) -> dict[str, float]:
        known = {name: value for name, value in vars(self).items() if value is not None}
        return {name: float(value if row is None else value[row]) for name, value in known.items()}


def shift(name: str, state: PartState, size: int, shared: PartState | None = None) -> Values:
    """The vector of that name that came down, minus the client's own; what is not there yet is zero."""
    found = shared[name].copy() if shared and name in shared else np.zeros(size, np.float32)
    if name in state:
        found -= state[name]
    return found


@dataclass(frozen=True)
class ServerContext:
    """What the server knows of a round when it moves its own vectors: what it ordered, how many clients' updates it
    used, and of how many clients in all."""

    rate: float
    steps: int
    used: int
    clients: int


@runtime_checkable
class Remembering(Protocol):
    """A solver whose clients keep something from one round to the next."""

    def update_state(self, state: PartState, shared: PartState, sent: Update, order: Order) -> PartState:
        """The client's new state, once its update was used; `state` and `shared` are those it trained with."""


@runtime_checkable
class TwoSided(Remembering, Protocol):
    """A solver with a half at the server. Nothing but the update comes up: both halves follow from what was sent."""

    def shared(self, state: PartState) -> PartState:
        """What goes down with the model, of the server's `state`."""

    def follow(self, state: PartState, aggregate: Values, turn: ServerContext) -> tuple[PartState, Values | None]:
        """The server's new state, and what else to add to its step."""
