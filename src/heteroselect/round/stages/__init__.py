"""What a round works with, and what each of its stages hands to the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort
from heteroselect.core.conditions import Conditions
from heteroselect.core.flat import Weights
from heteroselect.core.messages import Order, Upload
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.state import PartState
from heteroselect.core.streams import Streams
from heteroselect.core.update import Values
from heteroselect.parts.allocate import Allocation
from heteroselect.parts.compress import Update
from heteroselect.parts.score import Scores
from heteroselect.parts.train.work import longer
from heteroselect.round.method import Method, naming
from heteroselect.round.server import Clients, Server
from heteroselect.world import Environment, Event
from heteroselect.world.clock import Timing
from heteroselect.world.ledger import Calibrated, Messages


@dataclass(frozen=True)
class RoundContext:
    """What a round works with: the moment, the server before it, and everything it runs on."""

    moment: Moment
    server: Server
    method: Method
    clients: Clients
    environment: Environment
    streams: Streams
    selected: int
    draw: int = 0
    """How many have been drawn before in this round, where clients start one by one."""

    @property
    def number(self) -> int:
        return self.moment.round

    @property
    def steps(self) -> int:
        """H of this round: that of the solver, and more where rounds become longer as the rate falls."""
        method, first = self.method, replace(self.moment, round=1, now=0.0)
        start = getattr(method.lr, "start", None) or method.lr.eta(first)
        return longer(
            method.solver.steps, getattr(method.local_steps, "growth", 0.0), start, method.lr.eta(self.moment)
        )

    @cached_property
    def hostile(self) -> NDArray[np.bool_]:
        return self.environment.attack.hostile(len(self.server.population), self.streams)

    @cached_property
    def model(self) -> Weights:
        """The model that clients are sent this round, with the steps that lead to it."""
        return self.on_its_way(self.server.weights, self.server.of("downlink"), self.server.round)

    def on_its_way(self, weights: Weights, kept: PartState, round: int) -> Weights:
        """The model after `round`, with the steps that lead to it where it goes down as steps; `kept` is the role's."""
        with naming("downlink"):
            trail = self.method.downlink.trail(kept, round, len(self.server.population), self.clients.layout.size)
        return replace(weights, trail=trail)


@dataclass(frozen=True)
class Observation:
    """What the server knows before it decides; `asked` are those whose loss was asked for, and `events` the claims that
    were not believed."""

    now: float
    conditions: Conditions
    asked: Counts
    population: Population
    scores: Scores
    events: list[Event]


@dataclass(frozen=True)
class Plan:
    """Who takes part (`cohort`), with which score, how much each may send, and what each is told."""

    cohort: Cohort
    score: Reals
    allocation: Allocation
    beta: float
    orders: list[Order]


@dataclass(frozen=True)
class Arrived:
    """The updates that were accepted, how long each answer took, what was sent, and what went wrong."""

    updates: dict[int, Update]
    took: dict[int, float]
    sent: Messages
    events: list[Event]
    timing: Timing
    """What the seconds went into, by every clock."""
    decoding: dict[int, float] = field(default_factory=dict)
    """How many seconds of the server's own it took to decode each upload."""


@dataclass(frozen=True)
class Answers:
    """What came back: the uploads, the cohort (as it was selected again), how much each was to send in the end and over
    which link (bit/s), how many steps the model has made since each started, what arrived, and who has got the
    model."""

    uploads: dict[int, Upload]
    cohort: Cohort
    densities: Reals
    up: Reals
    staleness: Counts
    arrived: Arrived
    fetched: Counts
    mixed: Mapping[int, Update] = field(default_factory=dict)
    """What is aggregated of some updates instead of them."""


@dataclass(frozen=True)
class Result:
    """The new model, what the parts at the server keep, the aggregate, the weight of each of the cohort, and who
    measured batch-norm statistics."""

    model: Weights
    state: dict[str, PartState]
    aggregate: Values | None
    weights: Reals
    calibrated: list[Calibrated]
