"""THE ROUND: observe → score → select → allocate → train and compress → aggregate → record.

This is Algorithm 1 of the paper. Where the clients run is the engine's business, what their links and devices are is
the world's, and every decision is the method's. A round changes nothing: it returns the server as it is afterwards.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from heteroselect.allocate import Allocation
from heteroselect.arrays import Counts, Reals
from heteroselect.claims import bounded_losses, bounded_reports
from heteroselect.cohort import Cohort, Outcome, Situation, among, checked
from heteroselect.compress import Guided, Update
from heteroselect.compress.update import Values
from heteroselect.compress.wire import table_with
from heteroselect.conditions import Coder, Conditions
from heteroselect.errors import HeteroSelectError
from heteroselect.flat import Weights
from heteroselect.messages import Calibrate, Order, Question, Upload
from heteroselect.method import Method, Wanting, naming, needs_of
from heteroselect.moment import Moment
from heteroselect.population import Population
from heteroselect.receive import Arrived, choose, receive, remembered
from heteroselect.score import Scores
from heteroselect.select import SendAll
from heteroselect.server import Clients, Played, Record, Remote, Server
from heteroselect.shown import point, shown
from heteroselect.state import Kept, flat
from heteroselect.streams import Streams
from heteroselect.train import Turn, TwoSided
from heteroselect.world import Environment, Event, refuse_bad_conditions
from heteroselect.world.ledger import Calibrated, Messages
from heteroselect.world.note import world_note

ASKED = ("label", "variance")
"""Numbers of a report that a part asked for; those that come with every update are part of it."""


@dataclass(frozen=True)
class Round:
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

    @cached_property
    def hostile(self) -> NDArray[np.bool_]:
        return self.environment.attack.hostile(len(self.server.population), self.streams)

    @cached_property
    def model(self) -> Weights:
        """The model that clients are sent this round, with the steps that lead to it."""
        return self.on_its_way(self.server.weights, self.server.of("down"), self.server.round)

    def on_its_way(self, weights: Weights, kept: Kept, round: int) -> Weights:
        """The model after `round`, with the steps that lead to it where it goes down as steps; `kept` is the role's."""
        with naming("down"):
            trail = self.method.down.trail(kept, round, len(self.server.population), self.clients.layout.size)
        return replace(weights, trail=trail)


def play_round(
    moment: Moment,
    server: Server,
    method: Method,
    clients: Clients,
    environment: Environment,
    streams: Streams,
    *,
    selected: int,
) -> Played:
    """Compute one round, which begins at the simulated second `server.now`."""
    moment = replace(moment, now=server.now)
    this = Round(moment, server, method, clients, environment, streams, selected)
    seen = observe_and_score(this)  # eqs 1 to 5
    plan = select_and_allocate(this, seen)  # eqs 6 to 9, and 12
    arrived = train_and_receive(this, seen, plan)  # eqs 9 to 12, at the clients
    result = aggregate(this, seen, plan, arrived)  # eqs 13 and 14
    return conclude(this, seen, plan, arrived, result)


@dataclass(frozen=True)
class Seen:
    """What the server knows before it decides: the simulated second, what clients have to work with, whose loss was
    asked for, the scores, and which claims were not believed."""

    now: float
    conditions: Conditions
    asked: Counts
    population: Population
    scores: Scores
    events: list[Event]


def observe_and_score(this: Round) -> Seen:
    """Find out who is there, ask for the losses that the score needs, and score."""
    server, method, t = this.server, this.method, this.number
    everybody = np.arange(len(server.population))

    @cache
    def losses_of_all() -> Reals:  # asked by a stressed world only; nobody is charged for it
        return ask_losses(this, everybody)

    conditions, now = wait_for_clients(this, losses_of_all)
    there = np.flatnonzero(conditions.available)
    rng = this.streams.numpy("questions", round=t)
    here = Situation(this.moment, there, server.population.only(there), rng=rng, state=server.of("score"))
    with naming("score"):
        asked = among(method.score.asks(here), there, "the clients whose loss is asked")
    if isinstance(method.select, Wanting):
        with naming("select"):
            more = method.select.wants(replace(here, state=server.of("select")))
            asked = np.union1d(asked, among(more, there, "the clients whose loss is asked"))
    known = losses_of_all.cache_info().currsize > 0
    losses = np.where(np.isin(everybody, asked), losses_of_all(), np.nan) if known else ask_losses(this, asked)
    losses[asked], events = bounded_losses(asked, losses[asked], method.screen.claims)
    population = replace(server.population, losses=losses)
    with naming("score"):
        scores = method.score.score(replace(here, population=population.only(there)))
        among(scores.ids, there, "the clients with a score")
    return Seen(now, conditions, asked, population, scores, events)


@dataclass(frozen=True)
class Plan:
    """Who takes part (`cohort`), with which score, how much each may send, and what each is told."""

    cohort: Cohort
    score: Reals
    allocation: Allocation
    beta: float
    orders: list[Order]


def select_and_allocate(this: Round, seen: Seen) -> Plan:
    """Draw the cohort, share out how much each may send, and with it everything else that a client is told."""
    method, server, population, scores = this.method, this.server, seen.population, seen.scores
    here = Situation(
        this.moment,
        scores.ids,
        population.only(scores.ids),
        size=min(this.selected, len(scores.ids)),
        rng=this.streams.numpy("selection", round=this.number, client=this.draw),
        # a rule that does not need the links does not get to see them
        conditions=seen.conditions.only(scores.ids) if "links" in needs_of(method.select) else None,
        state=server.of("select"),
    )
    with naming("select"):
        cohort = checked(method.select.select(scores.total, here), scores.ids)
    ids, score = cohort.ids, scores.total[np.searchsorted(scores.ids, cohort.ids)]
    mine, conditions = population.only(ids), seen.conditions.only(ids)
    steps = method.work.of(method.train.steps, conditions.step_seconds)
    conditions = replace(conditions, own_passes=(method.passes * steps).astype(np.float64))
    here = replace(here, ids=ids, population=mine, conditions=conditions, state=server.of("allocate"))
    with naming("allocate"):
        allocation = method.allocate.allocate(score, cohort, here)
    beta, rates = method.memory.beta(allocation.theta), method.rate.of_clients(this.moment, score)
    hold = not isinstance(method.choose, SendAll)
    orders = [
        Order(int(k), this.number, rate, float(density), beta, int(count), allocation.warmup, hold)
        for k, rate, density, count in zip(ids, rates, allocation.densities, steps, strict=True)
    ]
    coder, variances = conditions.coder, None
    if coder is not None:
        variances = np.array([coder.variance(float(density)) for density in allocation.densities])
    return Plan(replace(cohort, steps=steps, variances=variances), score, allocation, beta, orders)


@dataclass(frozen=True)
class Answers:
    """What came back: the uploads, the cohort (with what each stands for, where it was selected again), how much each
    was to send in the end and over which link (bit/s), how many steps the model has made since each started, what
    arrived, and which clients have got the model of this round."""

    uploads: dict[int, Upload]
    cohort: Cohort
    densities: Reals
    up: Reals
    staleness: Counts
    arrived: Arrived
    fetched: Counts
    mixed: Mapping[int, Update] = field(default_factory=dict)
    """What is aggregated of some updates instead of them."""


def train_and_receive(this: Round, seen: Seen, plan: Plan) -> Answers:
    """Let the clients train and compress; then wait for what arrives."""
    method, server, cohort, ids = this.method, this.server, plan.cohort, plan.cohort.ids
    shared = goes_down(this)
    uploads, events = answered(this, this.clients.train(this.model, plan.orders, shared))
    densities = plan.allocation.densities
    if isinstance(method.compress, Guided):
        densities = densities * method.compress.share(server.of("compress"))
    # of everybody who trained, whoever of them is chosen to send
    reports = asked_for(uploads)
    if not isinstance(method.choose, SendAll):
        rng, reports = this.streams.numpy("choice", round=this.number), reports + len(ids)
        cohort, chosen = choose(cohort, uploads, seen.population.sizes, method.choose, this.selected, rng)
        densities = np.where(np.isin(ids, chosen), densities, 0.0)
        uploads, more = answered(this, this.clients.collect(this.model, chosen))
        events = events + more
    sent = messages(this, seen, plan, densities, uploads, shared, reports)
    arrived = receive(
        this.number,
        seen.now,
        uploads,
        sent,
        seen.conditions,
        passes(plan, method),
        method,
        this.environment,
        this.streams,
        server.of("screen").get("lengths"),
        # who of those that trained sends is decided already where it is chosen
        enough=cohort.enough if isinstance(method.choose, SendAll) else 0,
    )
    arrived = replace(arrived, events=seen.events + events + arrived.events)
    missing = [event.client for event in arrived.events if event.kind == "missing"]
    # of a client that did not answer nobody knows whether it got the model
    there = np.union1d(seen.asked, np.setdiff1d(ids, missing))
    return Answers(uploads, cohort, densities, seen.conditions.up[ids], np.zeros(len(ids), np.int64), arrived, there)


def asked_for(uploads: Mapping[int, Upload]) -> int:
    """How many of the numbers that were reported a part had asked for."""
    return sum(name.startswith(ASKED) for upload in uploads.values() for name in upload.report)


def messages(
    this: Round, seen: Seen, plan: Plan, densities: Reals, uploads: dict[int, Upload], shared: Kept, reports: int
) -> Messages:
    """All that is sent for a plan; `reports` are numbers that go up before the updates."""
    return Messages(
        size=this.clients.layout.size,
        model=this.server.weights.nbytes,
        asked=seen.asked,
        selected=plan.cohort.ids,
        densities=densities,
        payloads=[len(uploads[int(k)].payload) if int(k) in uploads else 0 for k in plan.cohort.ids],
        shared=sum(array.nbytes for array in shared.values()),
        reports=reports,
        probe=np.where(densities < 1, 0.0 if plan.allocation.warmup else this.method.probe, 0.0),
        downloads=this.model.downloads,
    )


def passes(plan: Plan, method: Method) -> Reals:
    """Passes over a batch that each client is ordered."""
    return np.array([method.passes * order.steps for order in plan.orders])


def answered(this: Round, uploads: Sequence[Upload]) -> tuple[dict[int, Upload], list[Event]]:
    """The uploads by client, with what hostile clients make of theirs and claims bounded; and what was not believed."""
    method, attack = this.method, this.environment.attack
    codecs = table_with(getattr(method.compress, "codec", None))
    sent, size, bound = {one.client: one for one in uploads}, this.clients.layout.size, method.screen.bound
    sent = attack.uploads(sent, this.hostile, size, bound, this.number, this.streams, codecs)
    return bounded_reports(sent, method.screen.claims, labels="labels" in method.needs)


def goes_down(this: Round) -> Kept:
    """What goes down with the model: of a solver with a half at the server, and of a compressor with one."""
    method, server = this.method, this.server
    solver = method.train.shared(server.of("train")) if isinstance(method.train, TwoSided) else {}
    guide = method.compress.told(server.of("compress")) if isinstance(method.compress, Guided) else {}
    return {**solver, **flat({"compress": guide})}


@dataclass(frozen=True)
class Result:
    """The new model, what the parts at the server keep, the aggregate, the weight of each of the cohort, and who
    measured batch-norm statistics."""

    model: Weights
    state: dict[str, Kept]
    aggregate: Values | None
    weights: Reals
    calibrated: list[Calibrated]


def aggregate(this: Round, seen: Seen, plan: Plan, answers: Answers) -> Result:
    """Weigh and aggregate what arrived, in the order of the clients' numbers whatever the order drawn, and step."""
    method, server, ids, updates = this.method, this.server, plan.cohort.ids, answers.arrived.updates
    places = np.array([place for place, k in enumerate(ids) if int(k) in updates], np.int64)
    places = places[np.argsort(ids[places])]
    weights = np.zeros(len(ids))
    with naming("weigh"):
        weights[places] = method.weigh.weights(plan.score[places], answers.cohort.only(places), seen.population)
    with naming("wait"):
        weights[places] *= method.wait.discount(answers.staleness[places])
    lengths = method.screen.remember(server.of("screen").get("lengths"), updates)
    state: dict[str, Kept] = {**server.state, "select": plan.cohort.state, "screen": {"lengths": lengths}}
    model, mean, step = server.weights, None, None
    if len(places):
        size = this.clients.layout.size
        mixed = [answers.mixed.get(int(k), updates[int(k)]) for k in ids[places]]
        mean = method.aggregate.aggregate(mixed, weights[places], size)
        if isinstance(method.compress, Guided):
            rng, tensors = this.streams.numpy("guide", round=this.number), this.clients.layout.tensors
            before, vector = server.of("compress"), model.vector.numpy()
            state["compress"], mean = method.compress.complete(before, mean, vector, tensors, rng)
        state["server"], step = method.server.step(server.of("server"), mean)
        if isinstance(method.train, TwoSided):
            turn = Turn(method.rate.eta(this.moment), method.train.steps, len(places), len(seen.population))
            state["train"], more = method.train.follow(server.of("train"), mean, turn)
            step = step if more is None else step + more
    state["down"], step = send_down(this, answers.fetched, step)
    if step is not None:
        model = Weights(model.vector + torch.from_numpy(step), model.buffers)
    who = ids[np.sort(places)]
    model, calibrated = recalibrate(this, this.on_its_way(model, state["down"], this.number), who)
    state["down"] = fetched(this, state["down"], np.array([one.client for one in calibrated], np.int64), this.number)
    state, more_calibrated = show(this, state, model, who)
    return Result(model, state, mean, weights, calibrated + more_calibrated)


def send_down(this: Round, there: Counts, step: Values | None) -> tuple[Kept, Values | None]:
    """Code the server's step for its way down: who has got the model of this round (`there`) and what else the role
    keeps, and the step as clients will decode it."""
    method, rng = this.method, this.streams.numpy("down", round=this.number)
    kept = fetched(this, this.server.of("down"), there, this.server.round)
    with naming("down"):
        return method.down.code(kept, step, this.clients.layout.layer_ends, rng)


def fetched(this: Round, kept: Kept, ids: Counts, round: int) -> Kept:
    """What the role `down` keeps once these clients have got the model after `round`."""
    with naming("down"):
        return this.method.down.fetched(kept, ids, round, len(this.server.population))


def conclude(
    this: Round, seen: Seen, plan: Plan, answers: Answers, result: Result, *, started: Counts | None = None
) -> Played:
    """The record, and what the server knows afterwards. Those selected were `started`, where these are others than
    answered."""
    method, server, ids, arrived, t = this.method, this.server, plan.cohort.ids, answers.arrived, this.number
    clock, uploads, losses = this.environment.clock, answers.uploads, seen.population.losses
    sent = replace(arrived.sent, calibrated=result.calibrated)
    waited, by_charge = seen.now - server.now, dict[str, float]()
    for charge, training in arrived.other_clocks.items():
        other = replace(clock, charge=charge)
        beside = other.beside(sent, seen.conditions, method.score.batches, seen.now, training)
        by_charge[charge] = waited + (training + beside)
    kept = [upload.report["memory"] for upload in uploads.values() if "memory" in upload.report]
    record = Record(
        round=t,
        accuracy=None,
        loss_mean=float(losses.mean()) if np.isfinite(losses).all() else None,
        selected=ids.tolist(),
        scores=plan.score.tolist(),
        densities=answers.densities.tolist(),
        weights=result.weights.tolist(),
        bandwidth_mbps=(answers.up / 1e6).tolist(),
        seconds=by_charge[clock.charge],
        seconds_by_charge=by_charge,
        bytes=sent.bytes(),
        tau=plan.cohort.tau,
        theta=plan.allocation.theta,
        beta=plan.beta,
        learning_rate=method.rate.eta(this.moment),
        memory_norm=float(np.mean(kept)) if kept else None,
        score_parts={name: float(part.mean()) for name, part in seen.scores.parts.items()},
        events=with_troubles(arrived, this.clients),
        world=world_note(
            seen.conditions,
            clock,
            sent,
            method.score.batches,
            seen.now,
            spent=arrived.spent,
            took=np.array([arrived.took[int(k)] for k in ids]),
            training=arrived.seconds,
            waited=waited,
        ),
    )
    state, received = dict(result.state), {}
    mean = result.aggregate
    if "uploads" in method.needs:
        received = {k: remembered(update, method, this.streams) for k, update in arrived.updates.items()}
    average = None if mean is None or not received else remembered(Update.whole(mean), method, this.streams)
    norms = np.array([uploads[k].report.get("norm", np.nan) for k in arrived.updates])
    outcome = Outcome(t, np.array(list(arrived.updates), np.int64), plan.allocation.theta, norms, average)
    for role in ("score", "select", "allocate"):
        part = getattr(method, role)
        if hasattr(part, "learn"):
            state[role] = part.learn(state.get(role, {}), outcome)
    reports = {k: {**uploads[k].report, "seconds": arrived.took[k], "round": float(t)} for k in arrived.updates}
    nobody = np.full(len(losses), np.nan)  # losses are of one model, and that has just changed
    selected = ids if started is None else started
    population = replace(seen.population, losses=nobody).selected(selected, t).reported_by(reports)
    after = Server(
        result.model, population, {r: one for r, one in state.items() if one}, t, server.now + record.seconds
    )
    counted = result.weights > 0 if method.keep_unweighted else np.ones(len(ids), bool)
    used = {int(k): bool(counts) and int(k) in arrived.updates for k, counts in zip(ids, counted, strict=True)}
    return Played(after, record, used, received)


def with_troubles(arrived: Arrived, clients: Clients) -> list[Event]:
    """The events of the round, with what the engine says went wrong: where it is why an answer is missing, there."""
    if not isinstance(clients, Remote):
        return arrived.events
    clients.decoded(arrived.decoding)
    missing: dict[int, list[str]] = {event.client: [] for event in arrived.events if event.kind == "missing"}
    others: list[Event] = []
    for trouble in clients.troubles():
        if trouble.client in missing and trouble.kind == "trouble":
            missing[trouble.client].append(trouble.detail)
        else:
            others.append(trouble)
    events = [
        replace(event, detail="; ".join(missing[event.client])) if event.kind == "missing" else event
        for event in arrived.events
    ]
    return events + others


def wait_for_clients(this: Round, losses: Callable[[], Reals]) -> tuple[Conditions, float]:
    """What clients have to work with, at the first moment from now on at which anybody is there; and that moment."""
    now = this.server.now
    while not (found := conditions_at(this, now, losses)).available.any():
        now = when_somebody_comes(found, now)
    return found, now


def when_somebody_comes(found: Conditions, now: float) -> float:
    """The next simulated second at which it is worth looking again; nobody was there `now`."""
    if not now < found.changes < np.inf:
        raise HeteroSelectError(f"world: nobody is available at second {now:g}, and nobody comes later.")
    return found.changes


def conditions_at(this: Round, now: float, losses: Callable[[], Reals]) -> Conditions:
    """What all clients have to work with at a simulated second, with what the method makes of it."""
    method, environment, clients = this.method, this.environment, len(this.server.population)
    found = environment.world.conditions(this.number, now, clients, losses, this.streams)
    refuse_bad_conditions(found, clients)
    return replace(
        found,
        passes=method.passes * method.train.steps,
        size=this.clients.layout.size,
        real_bits=None if environment.clock.charge == "paper" else method.values.bits,
        budget_seconds=environment.budget_seconds,
        coder=method.compress if isinstance(method.compress, Coder) else None,
    )


def ask_losses(this: Round, asked: Counts) -> Reals:
    """The losses of those asked, under the model of this round; NaN for all others."""
    score, size, t = this.method.score, this.method.train.batch, this.number
    questions = [Question(int(k), t, score.batches, size, score.augmented) for k in asked]
    losses = np.full(len(this.server.population), np.nan)
    losses[asked] = this.clients.losses(this.model, questions) if questions else []
    losses = this.environment.attack.losses(losses, this.hostile)
    wrong = asked[~np.isfinite(losses[asked])]
    right = len(asked) - len(wrong)
    if len(wrong) and (right < max(3, len(wrong)) or not this.method.screen.claims):  # no majority to go by
        client = int(wrong[0])
        raise HeteroSelectError(
            f"method.rate.start: the model diverged before round {t} (its loss at client {client} is not finite); "
            "allowed is a rate low enough to train with."
        )
    return losses


def recalibrate(this: Round, model: Weights, ids: Counts) -> tuple[Weights, list[Calibrated]]:
    """Measure batch-norm statistics for the new model at the first clients that answered; who did how much of it."""
    done: list[Calibrated] = []
    if not model.has_statistics or len(ids) == 0:
        return replace(model, trail=None), done
    size, lacking = this.method.train.batch, model.downloads
    available = [-(-int(this.server.population.sizes[k]) // size) for k in ids]
    for client, batches in zip(ids, this.method.calibrate.plan(available), strict=False):
        if batches:
            buffers = this.clients.calibrate(model, Calibrate(int(client), this.number, batches, size))
            answer = sum(buffer.numel() * buffer.element_size() for buffer in buffers.values())
            done.append(Calibrated(int(client), batches, answer, None if lacking is None else int(lacking[client])))
            model = replace(model, buffers=buffers)
    return replace(model, trail=None), done


def show(this: Round, state: dict[str, Kept], model: Weights, ids: Counts) -> tuple[dict[str, Kept], list[Calibrated]]:
    """Take the new model into the average. Where another model is shown than clients go on from, batch-norm statistics
    are measured for that one, too."""
    method = this.method
    there = point(method, state, model.vector.numpy())
    state = {**state, "average": method.average.add(this.server.of("average"), there, this.moment)}
    other = shown(method, state, model)
    if other is model or not model.has_statistics:
        return state, []
    other, calibrated = recalibrate(this, other, ids)
    return {**state, "calibrate": {name: buffer.numpy() for name, buffer in other.buffers.items()}}, calibrated
