"""A method is one part for each role of the round. Scorer, selector, allocator, compressor, memory, weigher
and server may be any object that fits the Protocol:

    mine = dataclasses.replace(methods.get("heteroselect"), name="mine", select=MySelector())

is a method of one's own, with no subclass and no registration.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from heteroselect.aggregate import Calibration, ClientWeights, Screen, ServerMomentum
from heteroselect.allocate import Allocation, Means
from heteroselect.arrays import Counts, Reals
from heteroselect.compress import Kept, Scene, Update, ValueCoding
from heteroselect.compress.update import Values
from heteroselect.messages import Order
from heteroselect.moment import Moment
from heteroselect.population import Population
from heteroselect.score import Scores
from heteroselect.select import Cohort, Situation
from heteroselect.train import FedProx, NoDrift, Rate, Steps, Turn


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

    def select(self, scores: Reals, here: Situation) -> Cohort: ...


class Allocator(Protocol):
    """How much may each send? `average` is the density that the round's time budget is made for."""

    @property
    def average(self) -> float: ...
    def allocate(self, scores: Reals, means: Means, moment: Moment) -> Allocation: ...


class Compressor(Protocol):
    """What of it is sent?"""

    def compress(self, v: Values, density: float, scene: Scene) -> Update: ...


class Memory(Protocol):
    """What does a client keep of what it did not send? `offer` makes of what was learnt and kept what the compressor
    sees; `settle` says what is kept on, once it is known whether the upload arrived (None: it did not)."""

    def beta(self, theta: float) -> float: ...
    def offer(self, delta: Values, kept: Kept) -> tuple[Values, Kept]: ...
    def settle(self, kept: Kept, sent: Update | None, beta: float) -> Kept: ...


class Weigher(Protocol):
    """How loudly does each speak?"""

    def of(self, scores: Reals, cohort: Cohort, population: Population) -> Reals: ...


class ServerStep(Protocol):
    """What does the model do with the aggregate? The new state of the server, and what is added to the model."""

    def step(self, state: Kept, aggregate: Values) -> tuple[Kept, Values]: ...


class Drift(Protocol):
    """What corrects the clients' gradients? `shift` is added to each of them; the client keeps what `settle` gives for
    what it sent, `shared` goes down with the model, and `follow` moves the server's half (and perhaps its step)."""

    def shared(self, state: Kept) -> Kept: ...
    def shift(self, kept: Kept, shared: Kept, like: Values) -> Values | None: ...
    def settle(self, added: Values, sent: Update, order: Order, solver: FedProx) -> Kept: ...
    def follow(self, state: Kept, aggregate: Values, turn: Turn, solver: FedProx) -> tuple[Kept, Values | None]: ...


class Chooser(Protocol):
    """Who of those who trained may send? By the lengths of what they learnt, and their parts of all data."""

    def choose(self, norms: Reals, data: Reals, size: int, rng: np.random.Generator) -> Cohort: ...


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
    server: ServerStep = ServerMomentum()
    screen: Screen = Screen()
    calibrate: Calibration = Calibration()
    consensus_keep: float = 0.9
    sketch: int = 0
    """Cells of the sketch that uploads are compared by; 0 compares them as they are."""
    keep_unweighted: bool = False
    """A client whose update counted with weight 0 is told that it was not used, and keeps it for later."""
    steps: Steps = Steps()
    drift: Drift = NoDrift()
    choose: Chooser | None = None
    """Selects again after training: everybody selected trains, and only those chosen send."""
    needs: frozenset[str] = frozenset()
    """What the method goes by beyond its score: "links" lets the selector see links and devices, "uploads"
    keeps the last ones."""
