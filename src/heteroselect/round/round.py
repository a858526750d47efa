"""THE ROUND: observe → score → select → allocate → train and compress → aggregate → record.

This is Algorithm 1 of the paper. Where the clients run is the engine's business, what their links and devices are is
the world's, and every decision is the method's. A round changes nothing: it returns the server as it is afterwards.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import torch

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import SelectionContext, among, checked
from heteroselect.core.flat import Weights
from heteroselect.core.messages import Order
from heteroselect.core.moment import Moment
from heteroselect.core.state import PartState
from heteroselect.core.streams import Streams
from heteroselect.core.traits import traits_of
from heteroselect.parts.compress import Guided
from heteroselect.parts.select import SendAll
from heteroselect.parts.train import ServerContext, TwoSided
from heteroselect.round.claims import bounded_losses
from heteroselect.round.method import Method, Wanting, naming
from heteroselect.round.receive import choose, receive
from heteroselect.round.server import Clients, RoundOutcome, Server
from heteroselect.round.stages import Answers, Observation, Plan, Result, RoundContext
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
) -> RoundOutcome:
    """Compute one round, which begins at the simulated second `server.now`."""
    moment = replace(moment, now=server.now)
    ctx = RoundContext(moment, server, method, clients, environment, streams, selected)
    seen = observe_and_score(ctx)  # eqs 1 to 5
    plan = select_and_allocate(ctx, seen)  # eqs 6 to 9, and 12
    arrived = train_and_receive(ctx, seen, plan)  # eqs 9 to 12, at the clients
    result = aggregate(ctx, seen, plan, arrived)  # eqs 13 and 14
    return conclude(ctx, seen, plan, arrived, result)


def observe_and_score(ctx: RoundContext) -> Observation:
    """Find out who is there, ask for the losses that the score needs, and score."""
    server, method, t = ctx.server, ctx.method, ctx.number
    everybody = np.arange(len(server.population))

    @cache
    def losses_of_all() -> Reals:  # asked by a stressed world only; nobody is charged for it
        return ask_losses(ctx, everybody)

    conditions, now = wait_for_clients(ctx, losses_of_all)
    there = np.flatnonzero(conditions.available)
    rng = ctx.streams.numpy("questions", round=t)
    context = SelectionContext(ctx.moment, there, server.population.only(there), rng=rng, state=server.of("score"))
    with naming("score"):
        asked = among(method.score.asks(context), there, "the clients whose loss is asked")
    if isinstance(method.select, Wanting):
        with naming("select"):
            more = method.select.wants(replace(context, state=server.of("select")))
            asked = np.union1d(asked, among(more, there, "the clients whose loss is asked"))
    known = losses_of_all.cache_info().currsize > 0
    losses = np.where(np.isin(everybody, asked), losses_of_all(), np.nan) if known else ask_losses(ctx, asked)
    losses[asked], events = bounded_losses(asked, losses[asked], method.outlier_filter.claims)
    population = replace(server.population, losses=losses)
    with naming("score"):
        scores = method.score.score(replace(context, population=population.only(there)))
        among(scores.ids, there, "the clients with a score")
    return Observation(now, conditions, asked, population, scores, events)


def select_and_allocate(ctx: RoundContext, seen: Observation) -> Plan:
    """Draw the cohort, share out how much each may send, and with it everything else that a client is told."""
    method, server, population, scores = ctx.method, ctx.server, seen.population, seen.scores
    context = SelectionContext(
        ctx.moment,
        scores.ids,
        population.only(scores.ids),
        size=min(ctx.selected, len(scores.ids)),
        rng=ctx.streams.numpy("selection", round=ctx.number, client=ctx.draw),
        # a rule that does not need the links does not get to see them
        conditions=seen.conditions.only(scores.ids) if "links" in traits_of(method.select).needs else None,
        state=server.of("select"),
    )
    with naming("select"):
        cohort = checked(method.select.select(scores.total, context), scores.ids)
    ids, score = cohort.ids, scores.total[np.searchsorted(scores.ids, cohort.ids)]
    mine, conditions = population.only(ids), seen.conditions.only(ids)
    steps = method.local_steps.of(ctx.steps, conditions.step_seconds)
    conditions = replace(conditions, own_passes=(method.passes * steps).astype(np.float64))
    context = replace(context, ids=ids, population=mine, conditions=conditions, state=server.of("allocate"))
    with naming("allocate"):
        allocation = method.allocate.allocate(score, cohort, context)
    beta, rates = method.error_feedback.beta(allocation.theta), method.lr.of_clients(ctx.moment, score)
    hold = not isinstance(method.second_selection, SendAll)
    orders = [
        Order(int(k), ctx.number, rate, float(density), beta, int(count), allocation.warmup, hold)
        for k, rate, density, count in zip(ids, rates, allocation.densities, steps, strict=True)
    ]
    coder, variances = conditions.coder, None
    if coder is not None:
        variances = np.array([coder.variance(float(density)) for density in allocation.densities])
    return Plan(replace(cohort, steps=steps, variances=variances), score, allocation, beta, orders)


def train_and_receive(ctx: RoundContext, seen: Observation, plan: Plan) -> Answers:
    """Let the clients train and compress; then wait for what arrives."""
    method, server, cohort, ids = ctx.method, ctx.server, plan.cohort, plan.cohort.ids
    shared = goes_down(ctx)
    uploads, events = answered(ctx, ctx.clients.train(ctx.model, plan.orders, shared))
    densities = plan.allocation.densities
    if isinstance(method.compress, Guided):
        densities = densities * method.compress.share(server.of("compress"))
    # of everybody who trained, whoever of them is chosen to send
    reports = asked_for(uploads)
    if not isinstance(method.second_selection, SendAll):
        rng, reports = ctx.streams.numpy("choice", round=ctx.number), reports + len(ids)
        cohort, chosen = choose(cohort, uploads, seen.population.sizes, method.second_selection, ctx.selected, rng)
        densities = np.where(np.isin(ids, chosen), densities, 0.0)
        uploads, more = answered(ctx, ctx.clients.collect(ctx.model, chosen))
        events = events + more
    sent = messages(ctx, seen, plan, densities, uploads, shared, reports)
    arrived = receive(
        ctx.number,
        seen.now,
        uploads,
        sent,
        seen.conditions,
        passes(plan, method),
        method,
        ctx.environment,
        ctx.streams,
        server.of("outlier_filter").get("lengths"),
        # who of those that trained sends is decided already where it is chosen
        enough=cohort.enough if isinstance(method.second_selection, SendAll) else 0,
    )
    arrived = replace(arrived, events=seen.events + events + arrived.events)
    missing = [event.client for event in arrived.events if event.kind == "missing"]
    # of a client that did not answer nobody knows whether it got the model
    there = np.union1d(seen.asked, np.setdiff1d(ids, missing))
    return Answers(uploads, cohort, densities, seen.conditions.up[ids], np.zeros(len(ids), np.int64), arrived, there)


def aggregate(ctx: RoundContext, seen: Observation, plan: Plan, answers: Answers) -> Result:
    """Weigh and aggregate what arrived, in the order of the clients' numbers whatever the order drawn, and step."""
    method, server, ids, updates = ctx.method, ctx.server, plan.cohort.ids, answers.arrived.updates
    places = np.array([place for place, k in enumerate(ids) if int(k) in updates], np.int64)
    places = places[np.argsort(ids[places])]
    weights = np.zeros(len(ids))
    with naming("weigh"):
        weights[places] = method.weigh.weights(plan.score[places], answers.cohort.only(places), seen.population)
    with naming("async_mode"):
        weights[places] *= method.async_mode.discount(answers.staleness[places])
    lengths = method.outlier_filter.remember(server.of("outlier_filter").get("lengths"), updates)
    state: dict[str, PartState] = {**server.state, "select": plan.cohort.state, "outlier_filter": {"lengths": lengths}}
    model, mean, step = server.weights, None, None
    if len(places):
        size = ctx.clients.layout.size
        mixed = [answers.mixed.get(int(k), updates[int(k)]) for k in ids[places]]
        mean = method.aggregate.aggregate(mixed, weights[places], size)
        if isinstance(method.compress, Guided):
            rng, tensors = ctx.streams.numpy("guide", round=ctx.number), ctx.clients.layout.tensors
            before, vector = server.of("compress"), model.vector.numpy()
            state["compress"], mean = method.compress.complete(before, mean, vector, tensors, rng)
        state["server_optimizer"], step = method.server_optimizer.step(server.of("server_optimizer"), mean)
        if isinstance(method.solver, TwoSided):
            turn = ServerContext(method.lr.eta(ctx.moment), ctx.steps, len(places), len(seen.population))
            state["solver"], more = method.solver.follow(server.of("solver"), mean, turn)
            step = step if more is None else step + more
    state["downlink"], step = send_down(ctx, answers.fetched, step)
    if step is not None:
        model = Weights(model.vector + torch.from_numpy(step), model.buffers)
    who = ids[np.sort(places)]
    model, calibrated = recalibrate(ctx, ctx.on_its_way(model, state["downlink"], ctx.number), who)
    state["downlink"] = fetched(
        ctx, state["downlink"], np.array([one.client for one in calibrated], np.int64), ctx.number
    )
    state, more_calibrated = show(ctx, state, model, who)
    return Result(model, state, mean, weights, calibrated + more_calibrated)
