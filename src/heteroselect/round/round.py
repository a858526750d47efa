"""THE ROUND: observe → score → select → allocate → train and compress → aggregate → record.

This is Algorithm 1 of the paper. Where the clients run is the engine's business, what their links and devices are is
the world's, and every decision is the method's. A round changes nothing: it returns the server as it is afterwards.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import torch

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Situation, among, checked
from heteroselect.core.flat import Weights
from heteroselect.core.messages import Order
from heteroselect.core.moment import Moment
from heteroselect.core.state import Kept
from heteroselect.core.streams import Streams
from heteroselect.parts.compress import Guided
from heteroselect.parts.select import SendAll
from heteroselect.parts.train import Turn, TwoSided
from heteroselect.round.claims import bounded_losses
from heteroselect.round.method import Method, Wanting, naming, needs_of
from heteroselect.round.receive import choose, receive
from heteroselect.round.server import Clients, Played, Server
from heteroselect.round.stages import Answers, Plan, Result, Round, Seen
from heteroselect.round.stages.after_step import fetched, recalibrate, send_down, show
from heteroselect.round.stages.answers import answered, asked_for, goes_down, messages, passes
from heteroselect.round.stages.conclude import conclude
from heteroselect.round.stages.observe import ask_losses, wait_for_clients
from heteroselect.world import Environment


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
    steps = method.work.of(this.steps, conditions.step_seconds)
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
            turn = Turn(method.rate.eta(this.moment), this.steps, len(places), len(seen.population))
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
