"""The server between two steps, the clients that it talks to, and what it writes down of a step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from heteroselect.core.flat import Layout, Weights
from heteroselect.core.messages import Calibrate, Order, Question, Upload
from heteroselect.core.population import Population
from heteroselect.core.state import PartState, State
from heteroselect.parts.compress import Update
from heteroselect.world import Event
from heteroselect.world.ledger import Bytes


class Clients(Protocol):
    """Where clients run. It carries messages: losses come in the order of the questions, uploads in any order, and of
    some clients perhaps none. `shared` goes down with the model. `collect` asks some of those who hold their update for
    it; `acknowledge` tells the clients named whether their upload was used."""

    @property
    def layout(self) -> Layout: ...
    def losses(self, weights: Weights, questions: Sequence[Question]) -> list[float]: ...
    def train(self, weights: Weights, orders: Sequence[Order], shared: PartState) -> list[Upload]: ...
    def collect(self, weights: Weights, clients: Sequence[int]) -> list[Upload]: ...
    def acknowledge(self, used: Mapping[int, bool]) -> None: ...
    def calibrate(self, weights: Weights, request: Calibrate) -> dict[str, Tensor]: ...


@runtime_checkable
class Remote(Protocol):
    """Clients whose messages can go wrong on their way. `troubles` are those since it was asked last; `decoded` is told
    how many seconds each upload took."""

    def troubles(self) -> list[Event]: ...
    def decoded(self, seconds: Mapping[int, float]) -> None: ...


@dataclass(frozen=True, eq=False)
class InFlight:
    """A client at work for a server that does not wait: what it was told, the model that it started from, when that was
    and how many seconds later its answer is there or is given up. `fate` is what happens to the answer on its way
    (missing, corrupt, …; "": nothing), and `dropped` whether it comes after the deadline. `link` is the client's uplink
    at its start in bit/s; `down`, `compute` and `up` are the seconds of its download, its device and its upload.
    `inclusion` is how likely it was to be drawn, `theta` the budget then. The `upload` is None after a restart: the
    client trains again, to the same bits."""

    order: Order
    model: Weights
    start: float
    seconds: float
    fate: str
    dropped: bool
    link: float
    down: float
    compute: float
    up: float
    inclusion: float
    theta: float
    upload: Upload | None = None

    @property
    def arrives(self) -> float:
        """The simulated second at which its work ends for the server."""
        return self.start + self.seconds

    @property
    def counts(self) -> bool:
        """Whether an answer arrives that the server looks at."""
        return self.fate != "missing" and not self.dropped


@dataclass(frozen=True)
class Server:
    """All that the server carries from step to step: the model, what it knows of the clients, what its parts keep (by
    role), the round it is after, the simulated second, and who is still at work, in the order of their starts."""

    weights: Weights
    population: Population
    state: State = field(default_factory=dict)
    round: int = 0
    now: float = 0.0
    flights: tuple[InFlight, ...] = ()

    def of(self, role: str) -> PartState:
        """What the part of this role keeps."""
        return self.state.get(role, {})


@dataclass(frozen=True)
class Record:
    """What a round was: who took part, how much each sent, how much it counted, and what came of it. Of a server that
    does not wait it is one step, and who took part are those whose answers it was made of."""

    round: int
    accuracy: float | None
    loss_mean: float | None
    selected: list[int]
    scores: list[float]
    densities: list[float]
    weights: list[float]
    bandwidth_mbps: list[float]
    seconds: float
    seconds_by_charge: dict[str, float]
    bytes: Bytes
    tau: float | None
    theta: float
    beta: float
    learning_rate: float
    memory_norm: float | None
    score_parts: dict[str, float]
    events: list[Event]
    world: dict[str, Any] = field(default_factory=dict)
    """Who was there, how fast everybody was, and where the seconds went (`world_note`)."""


@dataclass(frozen=True)
class RoundOutcome:
    """A round that has been computed and not yet taken over: the server afterwards, the record, which uploads were
    used, and the updates that the server is to remember."""

    server: Server
    record: Record
    used: dict[int, bool]
    received: dict[int, Update]
