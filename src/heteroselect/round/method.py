"""A method is data: one part for each role of the round. `Method()` is FedAvg, and

    Method("mine", select=Oort(), compress=STC(), memory=ErrorMemory())

is a method of one's own. A part is any object that fits the Protocol of its role, with no subclass and no registration;
its fields are its settings. Putting a method together checks it: what a part needs must be there, and a pair that
cannot work is refused with the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from types import FunctionType
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.moment import Moment
from heteroselect.core.part import FieldError, Misfit, check, kind_of
from heteroselect.core.population import Population
from heteroselect.core.state import PartState
from heteroselect.core.trail import DownlinkHistory
from heteroselect.core.traits import refuse_misspelt, traits_of
from heteroselect.core.update import Values
from heteroselect.errors import HeteroSelectError
from heteroselect.parts.aggregate import ByData, Calibration, Mean, NoAverage, Screen, ServerSGD, WaitForAll
from heteroselect.parts.aggregate.wait import unfit
from heteroselect.parts.allocate import All, Allocation
from heteroselect.parts.compress import (
    CompressContext,
    Everything,
    Float32,
    NoMemory,
    NoPrivacy,
    Update,
    WholeModel,
)
from heteroselect.parts.score import NoScore, Scores
from heteroselect.parts.select import Cohort, SelectionContext, SendAll, Uniform
from heteroselect.parts.train import SGD, EqualSteps, Job, SharedRate, Trainable, Trained


class Scorer(Protocol):
    """Returns a score per candidate, and the clients whose loss it wants; the ledger charges for these. The question:
    how informative is each client?

    >>> class Largest:
    ...     batches, augmented = 8, False
    ...     def asks(self, context):
    ...         return context.ids[:0]  # no loss is asked for
    ...     def score(self, context):
    ...         return Scores(context.ids, context.population.sizes / context.population.sizes.max(), {})
    >>> context = SelectionContext(Moment(1, 10), np.arange(3), Population.new(np.array([10, 40, 20])))
    >>> Largest().score(context).total.tolist()
    [0.25, 1.0, 0.5]
    """

    @property
    def batches(self) -> int: ...
    @property
    def augmented(self) -> bool: ...
    def asks(self, context: SelectionContext) -> Counts: ...
    def score(self, context: SelectionContext) -> Scores: ...


class Selector(Protocol):
    """Returns the cohort of a round, of the candidates `context.ids`; `scores` are in their order. The question: who
    takes part?

    >>> class InTurn:
    ...     def select(self, scores, context):
    ...         return context.cohort(np.argsort(context.population.counts, kind="stable")[: context.size])
    >>> known = Population.new(np.array([10, 40, 20])).selected(np.array([0]), 1)
    >>> InTurn().select(np.ones(3), SelectionContext(Moment(2, 10), np.arange(3), known, size=2)).ids.tolist()
    [1, 2]
    """

    def select(self, scores: Reals, context: SelectionContext) -> Cohort: ...


@runtime_checkable
class Wanting(Protocol):
    """A selector that goes by losses itself: `wants` returns the clients whose loss it wants this round, beside those
    that the score asks for."""

    def wants(self, context: SelectionContext) -> Counts: ...


class Chooser(Protocol):
    """Returns who may send, of the clients `ids` that have trained: by the lengths of what they learnt and their parts
    of all data. The question: who of those who trained may send?

    >>> class Longest:
    ...     def choose(self, ids, norms, data, size, rng):
    ...         return Cohort(ids[np.argsort(-norms)[:size]], np.ones(size))
    >>> Longest().choose(np.array([4, 7]), np.array([0.5, 2.0]), np.array([0.1, 0.1]), 1, None).ids.tolist()
    [7]
    """

    def choose(self, ids: Counts, norms: Reals, data: Reals, size: int, rng: np.random.Generator) -> Cohort: ...


class Allocator(Protocol):
    """Returns the density θ_t of the round and one per client of the cohort; `average` is the density that the round's
    time budget is made for. The question: how much may each client send?

    >>> class Half:
    ...     average = 0.5
    ...     def allocate(self, scores, cohort, context):
    ...         return Allocation(self.average, np.full(len(cohort.ids), self.average))
    >>> Half().allocate(np.ones(2), Cohort(np.array([4, 7]), np.ones(2)), None).densities.tolist()
    [0.5, 0.5]
    """

    @property
    def average(self) -> float: ...
    def allocate(self, scores: Reals, cohort: Cohort, context: SelectionContext) -> Allocation: ...


class Rate(Protocol):
    """Returns the local learning rate: `eta` of the round, `of_clients` of each client of the cohort. The question: how
    far does a local step go?

    >>> class Falling:
    ...     def eta(self, moment):
    ...         return 0.1 / moment.round
    ...     def of_clients(self, moment, scores):
    ...         return [self.eta(moment)] * len(scores)
    >>> Falling().of_clients(Moment(2, 10), np.ones(3))
    [0.05, 0.05, 0.05]
    """

    def eta(self, moment: Moment) -> float: ...
    def of_clients(self, moment: Moment, scores: Reals) -> list[float]: ...


class Work(Protocol):
    """Returns the local steps of each client of the cohort, where `steps` are those of the solver. The question: how
    long does each client train?

    >>> class Halved:
    ...     def of(self, steps, step_seconds):
    ...         return np.where(step_seconds > np.median(step_seconds), steps // 2, steps)
    >>> Halved().of(50, np.array([0.1, 0.1, 0.3])).tolist()
    [50, 50, 25]
    """

    def of(self, steps: int, step_seconds: Reals) -> Counts: ...


class Solver(Protocol):
    """Trains the model in place and returns what the client reports of its losses. A solver whose clients keep
    something fits `train.Remembering`, too, and one with a half at the server (SCAFFOLD, FedDyn) `train.TwoSided`. The
    question: what does a client do with its data?

    >>> class OneStep:
    ...     steps, batch = 1, 32
    ...     def run(self, model, job):
    ...         loss = model.backward(job.loss, *job.batches())
    ...         model.vector.sub_(model.gradient, alpha=job.rates[0])
    ...         return Trained(loss, loss)
    >>> Method("one-step", solver=OneStep()).solver.steps
    1
    """

    @property
    def steps(self) -> int: ...
    @property
    def batch(self) -> int: ...
    def run(self, model: Trainable, job: Job) -> Trained: ...


class Privacy(Protocol):
    """Returns the update that everything after training gets to see. The question: what does a client hide?

    >>> class Clipped:
    ...     def protect(self, delta, rng):
    ...         return np.clip(delta, -1, 1)
    >>> Clipped().protect(np.array([0.5, -3.0]), None).tolist()
    [0.5, -1.0]
    """

    def protect(self, delta: Values, rng: np.random.Generator) -> Values: ...


class Memory(Protocol):
    """Returns what the compressor gets (`offer`, of what was learnt and kept), and what is kept on (`update_state`,
    once it is known what of it the server used; None: nothing). `beta` is the share of it that is left next time. The
    question: what does a client keep of what it did not send?

    >>> from heteroselect.core.traits import Traits
    >>> class Rest:
    ...     traits = Traits(keeps=True)
    ...     def beta(self, theta):
    ...         return 1.0
    ...     def offer(self, delta, kept):
    ...         v = delta + kept.get("rest", np.float32(0))
    ...         return v, {"rest": v}
    ...     def update_state(self, kept, sent, beta):
    ...         return kept if sent is None else {"rest": kept["rest"] - sent.dense()}
    >>> v, kept = Rest().offer(np.array([2, 1], np.float32), {})
    >>> Rest().update_state(kept, Update.keep(v, np.array([0])), 1.0)["rest"].tolist()
    [0.0, 1.0]
    """

    def beta(self, theta: float) -> float: ...
    def offer(self, delta: Values, kept: PartState) -> tuple[Values, PartState]: ...
    def update_state(self, kept: PartState, sent: Update | None, beta: float) -> PartState: ...


class Compressor(Protocol):
    """Returns the update to send at a density, and what the compressor itself keeps at this client. The question: what
    of it is sent?

    >>> class First:
    ...     def compress(self, v, density, context):
    ...         return Update.keep(v, np.arange(max(1, int(density * v.size)))), {}
    >>> update, _ = First().compress(np.array([3, 1, 2, 4], np.float32), 0.5, None)
    >>> update.dense().tolist()
    [3.0, 1.0, 0.0, 0.0]
    """

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]: ...


class ValueCoding(Protocol):
    """Returns the update with the values that the server will see; `layers` are the ends of the model's layers. The
    question: what is a kept value sent as?

    >>> class Float:
    ...     bits = 32
    ...     def apply(self, update, layers, rng):
    ...         return update
    >>> Float().apply(Update.whole(np.ones(2, np.float32)), [2], None).values.tolist()
    [1.0, 1.0]
    """

    @property
    def bits(self) -> int: ...
    def apply(self, update: Update, layers: Sequence[int], rng: np.random.Generator) -> Update: ...


class Wait(Protocol):
    """Says when the server steps: after `size` answers, with `concurrency` clients at work (0: as many as are
    selected). A `size` of 0 is a round, in which the cohort is waited for. `discount` returns how much an answer counts
    that comes so many steps after its start; `mixes` says whether updates or the models that they lead to are taken in.
    The question: does the server wait for a cohort?

    >>> class FreshOnly:
    ...     size, concurrency, mixes = 2, 0, "updates"
    ...     def discount(self, staleness):
    ...         return (staleness == 0).astype(float)
    >>> FreshOnly().discount(np.array([0, 3])).tolist()
    [1.0, 0.0]
    """

    @property
    def size(self) -> int: ...
    @property
    def concurrency(self) -> int: ...
    @property
    def mixes(self) -> Literal["updates", "models"]: ...
    def discount(self, staleness: Counts) -> Reals: ...


class Weigher(Protocol):
    """Returns the weight of each update in the aggregate; `population` is of all clients. The question: how much does
    each update count?

    >>> class BySize:
    ...     def weights(self, scores, cohort, population):
    ...         sizes = population.sizes[cohort.ids]
    ...         return sizes / sizes.sum()
    >>> cohort = Cohort(np.array([0, 2]), np.ones(2))
    >>> BySize().weights(np.ones(2), cohort, Population.new(np.array([30, 5, 10]))).tolist()
    [0.75, 0.25]
    """

    def weights(self, scores: Reals, cohort: Cohort, population: Population) -> Reals: ...


class Aggregator(Protocol):
    """Returns one vector of `size` numbers, made of the updates and their weights. The question: what do the updates
    say together?

    >>> class Sum:
    ...     def aggregate(self, updates, weights, size):
    ...         total = np.zeros(size, np.float32)
    ...         for update, weight in zip(updates, weights, strict=True):
    ...             update.add_to(total, weight)
    ...         return total
    >>> Sum().aggregate([Update.whole(np.ones(2, np.float32))] * 2, np.array([0.5, 1.0]), 2).tolist()
    [1.5, 1.5]
    """

    def aggregate(self, updates: Sequence[Update], weights: Reals, size: int) -> Values: ...


class ServerStep(Protocol):
    """Returns the server's new state, and the step that is added to the model. A part whose model is not the point to
    be evaluated also has `shown(state, model)`, which returns that point; so may a solver with a half at the server.
    The question: how far does the model move?

    >>> class Halfway:
    ...     def step(self, state, aggregate):
    ...         return {}, aggregate / 2
    >>> Halfway().step({}, np.array([2.0, 4.0]))[1].tolist()
    [1.0, 2.0]
    """

    def step(self, state: PartState, aggregate: Values) -> tuple[PartState, Values]: ...


class Down(Protocol):
    """Returns the step that the model really takes (`code`; None: there is none), and the coded steps that clients
    fetch where they lack them (`trail`; None: the whole model). `fetched` notes who has got the model after `round`.
    The question: how does the model get to clients?

    >>> class Rounded:
    ...     def code(self, state, step, layers, rng):
    ...         return {}, None if step is None else step.astype(np.float16).astype(np.float32)
    ...     def fetched(self, state, ids, round, clients):
    ...         return state
    ...     def trail(self, state, round, clients, size):
    ...         return None
    >>> Rounded().code({}, np.array([0.5], np.float32), [1], None)[1].tolist()
    [0.5]
    """

    def code(
        self, state: PartState, step: Values | None, layers: Sequence[int], rng: np.random.Generator
    ) -> tuple[PartState, Values | None]: ...
    def fetched(self, state: PartState, ids: Counts, round: int, clients: int) -> PartState: ...
    def trail(self, state: PartState, round: int, clients: int, size: int) -> DownlinkHistory | None: ...


class Average(Protocol):
    """Returns what is kept of the models (`add`, once per round), and the model to show (`mean`); clients go on from
    the model itself. The question: which model is evaluated and saved?

    >>> class LastTwo:
    ...     def add(self, state, model, moment):
    ...         return {"last": model, "mean": (model + state.get("last", model)) / 2}
    ...     def mean(self, state, model):
    ...         return state.get("mean", model)
    >>> kept = LastTwo().add(LastTwo().add({}, np.array([1.0]), Moment(1, 2)), np.array([3.0]), Moment(2, 2))
    >>> LastTwo().mean(kept, np.array([3.0])).tolist()
    [2.0]
    """

    def add(self, state: PartState, model: Values, moment: Moment) -> PartState: ...
    def mean(self, state: PartState, model: Values) -> Values: ...


@dataclass(frozen=True)
class Method:
    """Who takes part, how much may each send, and how much does it count."""

    name: str = "fedavg"
    score: Scorer = NoScore()
    select: Selector = Uniform()
    second_selection: Chooser | SendAll = SendAll()
    """Selects again after training: everybody selected trains, and only those chosen send."""
    allocate: Allocator = All()
    lr: Rate = SharedRate()
    local_steps: Work = EqualSteps()
    solver: Solver = SGD()
    privacy: Privacy = NoPrivacy()
    error_feedback: Memory = NoMemory()
    compress: Compressor = Everything()
    quantize: ValueCoding = Float32()
    async_mode: Wait = WaitForAll()
    weigh: Weigher = ByData()
    aggregate: Aggregator = Mean()
    server_optimizer: ServerStep = ServerSGD()
    downlink: Down = WholeModel()
    outlier_filter: Screen = Screen()
    calibrate: Calibration = Calibration()
    model_average: Average = NoAverage()

    def __post_init__(self) -> None:
        for role, part in self.parts():
            with naming(role):
                check(part)
                refuse_misspelt(part)
        for conflict in conflicts(dict(self.parts())):
            raise HeteroSelectError(f"method.{conflict.role}: {conflict.text}.")

    def parts(self) -> list[tuple[str, Any]]:
        """Each role and its part, in the order of a round."""
        return [(one.name, getattr(self, one.name)) for one in fields(self) if one.name != "name"]

    @property
    def needs(self) -> frozenset[str]:
        """What any of its parts goes by."""
        return frozenset().union(*(traits_of(part).needs for _, part in self.parts()))

    @property
    def sketch(self) -> int:
        """Cells of the sketches that uploads are remembered by; 0 where they are remembered whole."""
        return max((cells for _, cells in _sketches(dict(self.parts()))), default=0)

    @property
    def passes(self) -> float:
        """Passes over a batch per local step."""
        said = traits_of(self.solver).passes
        return 1.0 if said is None else said

    @property
    def probe(self) -> float:
        """Passes over a batch that compressing one update takes, beside training."""
        return traits_of(self.compress).passes or 0.0

    @property
    def sends_float32(self) -> bool:
        """Whether what is sent are float32 values: of others the paper's count, 32 bits for each, means nothing."""
        own = traits_of(self.compress).own_values or getattr(self.compress, "codec", None) is not None
        return kind_of(self.quantize) == "float32" and not own


@dataclass(frozen=True)
class Conflict:
    """Two parts that cannot work together: `role` is the one to blame, `other` the one that would have to change."""

    role: str
    other: str
    text: str


def conflicts(parts: Mapping[str, Any]) -> Iterator[Conflict]:
    """Yield everything that keeps parts, one per role, from working together."""
    kinds = {role: kind_of(part) for role, part in parts.items()}
    for role in parts:
        yield from _conflicts_of(role, parts, kinds)
    if reason := unfit(parts):
        yield Conflict("async_mode", "async_mode", f"{kinds['async_mode']} {reason}")
    yield from _coding_conflicts(parts, kinds)


def _conflicts_of(role: str, parts: Mapping[str, Any], kinds: Mapping[str, str]) -> Iterator[Conflict]:
    """Yield what the part of one role says against the others."""
    part, kind, traits = parts[role], kinds[role], traits_of(parts[role])
    for name in _methods(role):
        if not callable(getattr(part, name, None)):
            yield Conflict(role, role, f"{kind} has no method {name}, which this role needs")
    if "scores" in traits.needs and kinds["score"] == "none":
        yield Conflict(role, "score", f"{kind} goes by a score; allowed with it is a score that is not none")
    for other, names in traits.requires.items():
        if other not in kinds:
            yield Conflict(role, role, f"{kind} requires a role {other!r}, which there is not")
        elif kinds[other] not in names:
            text = f"{kind} is allowed with {other} {' or '.join(names)} only, not {kinds[other]}"
            yield Conflict(role, other, text)
    reason = part.fits(parts) if hasattr(part, "fits") else None
    if reason:  # a text alone is about settings, which no other part would mend
        other, text = reason if isinstance(reason, Misfit) else (role, reason)
        yield Conflict(role, other, f"{kind} {text}")


def _coding_conflicts(parts: Mapping[str, Any], kinds: Mapping[str, str]) -> Iterator[Conflict]:
    """Yield what keeps a compressor from working with a memory, coded values, an allocation or remembered uploads."""
    kind, promised = kinds["compress"], traits_of(parts["compress"])
    if traits_of(parts["error_feedback"]).keeps and not promised.promises("takes_memory"):
        why = "its error does not shrink with what is sent, so that a memory of it would grow without end"
        yield Conflict("compress", "error_feedback", f"{kind} is allowed with error_feedback none only: {why}")
    if promised.own_values and kinds["quantize"] != "float32":
        yield Conflict(
            "compress", "quantize", f"{kind} has few-bit values of its own; allowed with it is quantize float32"
        )
    if not promised.uses_density and kinds["allocate"] != "all":
        yield Conflict("compress", "allocate", f"{kind} sends every coordinate; allowed with it is allocate all")
    if len({cells for _, cells in _sketches(parts)}) > 1:
        first, second = (role for role, _ in _sketches(parts)[:2])
        yield Conflict(first, second, f"sketch must be the same in {first} and {second}, which share the sketches")


def _methods(role: str) -> list[str]:
    """The methods that every part of a role has."""
    hint = Method.__annotations__[role]
    first, *others = get_args(hint) or (hint,)
    names = [name for name, one in vars(first).items() if isinstance(one, FunctionType) and name[0] != "_"]
    return [name for name in names if all(hasattr(other, name) for other in others)]


def _sketches(parts: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [(role, getattr(part, "sketch", 0)) for role, part in parts.items() if "uploads" in traits_of(part).needs]


@contextmanager
def naming(role: str) -> Iterator[None]:
    """Errors of a part name its field; here they get the key."""
    try:
        yield
    except FieldError as error:
        key = f"method.{role}.{error.name}" if error.name else f"method.{role}"
        raise HeteroSelectError(f"{key}: {error.text.rstrip('.')}.") from error
    except ValueError as error:
        raise HeteroSelectError(f"method.{role}: {error}.") from error
