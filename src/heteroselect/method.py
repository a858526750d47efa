"""A method is one part for each role of the round. Scorer, selector, allocator, compressor, memory and weigher may
be any object that fits the Protocol:

    mine = dataclasses.replace(methods.get("heteroselect"), name="mine", select=MySelector())

is a method of one's own, with no subclass and no registration.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from heteroselect.aggregate import Calibration, ClientWeights, ServerMomentum
from heteroselect.allocate import Allocation, Means
from heteroselect.compress import Scene, Update, ValueCoding
from heteroselect.compress.update import Values
from heteroselect.moment import Moment
from heteroselect.population import Counts, Population, Reals
from heteroselect.score import Scores
from heteroselect.select import Cohort
from heteroselect.train import FedProx, Rate


class Scorer(Protocol):
    """How informative is each client? `needs` names what it goes by ("losses" asked for, "reports" of training,
    "uploads"); `asks` says whose loss it wants this round, and the ledger charges for it."""

    @property
    def needs(self) -> frozenset[str]: ...
    @property
    def batches(self) -> int: ...
    @property
    def augmented(self) -> bool: ...
    def asks(self, population: Population, rng: np.random.Generator) -> Counts: ...
    def score(self, population: Population, moment: Moment) -> Scores: ...


class Selector(Protocol):
    """Who takes part?"""

    def select(self, scores: Reals, size: int, moment: Moment, rng: np.random.Generator) -> Cohort: ...


class Allocator(Protocol):
    """How much may each send? `average` is the density that the round's time budget is made for."""

    @property
    def average(self) -> float: ...
    def allocate(self, scores: Reals, means: Means, moment: Moment) -> Allocation: ...


class Compressor(Protocol):
    """What of it is sent?"""

    def compress(self, v: Values, density: float, scene: Scene) -> Update: ...


class Memory(Protocol):
    """What does a client keep of what it did not send?"""

    def beta(self, theta: float) -> float: ...
    def add(self, delta: Values, memory: Values | None) -> Values: ...
    def rest(self, v: Values, sent: Update, beta: float, weight: float) -> Values | None: ...


class Weigher(Protocol):
    """How loudly does each speak?"""

    def of(self, scores: Reals, inclusion: Reals) -> Reals: ...


@dataclass(frozen=True)
class Method:
    """Who speaks, how much, and how loudly. The server holds the whole; a client needs only `train`,
    `compress` and `memory`."""

    name: str
    score: Scorer
    select: Selector
    allocate: Allocator
    rate: Rate
    train: FedProx
    memory: Memory
    compress: Compressor
    values: ValueCoding = ValueCoding()
    weigh: Weigher = ClientWeights()
    server: ServerMomentum = ServerMomentum()
    calibrate: Calibration = Calibration()
    consensus_keep: float = 0.9
