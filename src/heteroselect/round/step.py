"""A STEP OF A SERVER THAT DOES NOT WAIT: start → train → take in what arrives → aggregate → record.

A number of clients is at work all the time, each with the model of its start. Whoever is done is followed at once by
another one, and after every k answers the model makes a step. Starting a client, aggregating and recording are those of
a round (`round.py`); what is different is when, and that an answer may be of an older model.

A client starts at most once per step, since what it keeps is settled by the step that takes its answer in. Its traffic
is charged in the step in which it starts, so that what is in flight when a run ends is not left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.conditions import Coder
from heteroselect.core.messages import Upload
from heteroselect.core.moment import Moment
from heteroselect.core.part import kind_of
from heteroselect.core.streams import Streams
from heteroselect.errors import HeteroSelectError
from heteroselect.parts.allocate import Allocation
from heteroselect.parts.compress import Update
from heteroselect.round.method import Method
from heteroselect.round.server import Clients, InFlight, RoundOutcome, Server
from heteroselect.round.stages import Answers, Observation, Plan, RoundContext
from heteroselect.round.stages.aggregate import aggregate
from heteroselect.round.stages.conclude import conclude
from heteroselect.round.stages.observe import ask_losses, conditions_at, when_somebody_comes
from heteroselect.round.stages.receive import accept, fates
from heteroselect.round.stages.select import select_and_allocate
from heteroselect.round.stages.train import answered, asked_for, messages, passes
from heteroselect.world import Environment
from heteroselect.world.clock import Seconds, Spent, Timing
from heteroselect.world.ledger import Messages


def play_step(
    moment: Moment,
    server: Server,
    method: Method,
    clients: Clients,
    environment: Environment,
    streams: Streams,
    *,
    selected: int,
) -> RoundOutcome:
    """Compute one step of the server, from the simulated second `server.now` to the k-th answer after it."""
    ctx = RoundContext(replace(moment, now=server.now), server, method, clients, environment, streams, selected)
    losses = cache(lambda: ask_losses(ctx, np.arange(len(server.population))))  # of a stressed world, for nothing
    now, places, size = server.now, method.async_mode.concurrency or selected, method.async_mode.size
    at_work, done, begun = trained_again(clients, server.flights), list[InFlight](), list[Messages]()
    while lacking := size - sum(one.counts for one in done):
        busy = np.array([one.order.client for one in (*at_work, *done)], np.int64)
        room = places - len(at_work)
        seen = observe(ctx, now, busy, losses)
        if room > 0 and len(seen.scores.ids):
            drawn = sum(len(sent.selected) for sent in begun)
            moment = replace(moment, now=now)
            ctx, more, sent = start(replace(ctx, moment=moment, selected=room, draw=drawn), seen)
            at_work, begun = at_work + more, [*begun, sent]
        elif at_work:
            until = seen.conditions.changes if room > 0 else np.inf
            now, arrived = arrivals(at_work, now, until, lacking)
            done, at_work = done + arrived, [one for one in at_work if one not in arrived]
        elif done:
            break  # everybody has had a turn or is away: the step is made of what there is
        else:
            now = when_somebody_comes(seen.conditions, now)
    return take_in(ctx, replace(seen, now=server.now), done, at_work, begun, now)


def trained_again(clients: Clients, flights: Sequence[InFlight]) -> list[InFlight]:
    """Those at work, with their uploads: after a restart their clients train again, from the models of their starts."""
    lost: dict[int, list[InFlight]] = {}
    for one in flights:
        if one.upload is None:
            lost.setdefault(one.order.round, []).append(one)
    uploads: dict[int, Upload] = {}
    for some in lost.values():
        uploads |= {up.client: up for up in clients.train(some[0].model, [one.order for one in some], {})}
    return [replace(one, upload=one.upload or uploads[one.order.client]) for one in flights]


def observe(ctx: RoundContext, now: float, busy: Counts, losses: Callable[[], Reals]) -> Observation:
    """What the server knows before somebody starts: who is there and free, and what these have to work with."""
    conditions = conditions_at(ctx, now, losses)
    free = np.setdiff1d(np.flatnonzero(conditions.available), busy)
    context = SelectionContext(ctx.moment, free, ctx.server.population.only(free), state=ctx.server.of("score"))
    return Observation(now, conditions, free[:0], ctx.server.population, ctx.method.score.score(context), [])


def start(ctx: RoundContext, seen: Observation) -> tuple[RoundContext, list[InFlight], Messages]:
    """Draw who starts next and let them train; return the round with what the selector keeps, those who are at work now
    and when each will be done, and what is sent for them."""
    method, environment, server = ctx.method, ctx.environment, ctx.server
    plan = select_and_allocate(ctx, seen)
    ids, densities = plan.cohort.ids, plan.allocation.densities
    if len(ids) > ctx.selected:
        raise HeteroSelectError(
            f"method.select: it chose {len(ids)} clients where {ctx.selected} may start; allowed with wait "
            f"{kind_of(method.async_mode)} is no more than that."
        )
    uploads = {upload.client: upload for upload in ctx.clients.train(ctx.model, plan.orders, {})}
    sent = messages(ctx, seen, plan, densities, uploads, {}, asked_for(uploads))
    spent = environment.clock.spent(sent, seen.conditions, passes(plan, method), seen.now)
    fate = fates(ctx, seen.conditions, seen.now, uploads, sent, spent.total)
    seconds, dropped = environment.faults.each(spent.total, fate)
    flights = [
        InFlight(
            order=order,
            model=server.weights,
            start=seen.now,
            seconds=float(seconds[place]),
            fate=fate[place] or "",
            dropped=dropped[place],
            link=float(seen.conditions.up[order.client]),
            down=float(spent.down[place]),
            compute=float(spent.compute[place]),
            up=float(spent.up[place]),
            inclusion=float(plan.cohort.inclusion[place]),
            theta=plan.allocation.theta,
            upload=uploads.get(order.client),
        )
        for place, order in enumerate(plan.orders)
    ]
    heard = np.array([one.fate != "missing" for one in flights])
    payloads = [size if there else 0 for size, there in zip(sent.payloads, heard, strict=True)]
    sent = replace(sent, payloads=payloads, densities=np.where(heard, densities, 0.0))
    server = replace(server, state={**server.state, "select": plan.cohort.state})
    return replace(ctx, server=server), flights, sent


def arrivals(at_work: Sequence[InFlight], now: float, until: float, lacking: int) -> tuple[float, list[InFlight]]:
    """When the next work ends and whose, in that order, until no answer is lacking; nobody's where somebody may come or
    go first, at `until`."""
    first = min(one.arrives for one in at_work)
    if now < until < first:
        return until, []
    now, taken = max(now, first), list[InFlight]()
    for one in sorted((one for one in at_work if one.arrives <= now), key=lambda one: one.arrives):
        if lacking == sum(other.counts for other in taken):
            break
        taken.append(one)
    return now, taken


def take_in(
    ctx: RoundContext,
    seen: Observation,
    done: list[InFlight],
    at_work: list[InFlight],
    begun: list[Messages],
    now: float,
) -> RoundOutcome:
    """Make a step of the answers that are there, at the second `now`; what was sent is that of those who began."""
    method, t = ctx.method, ctx.number
    plan = plan_of(ctx, done)
    densities = plan.allocation.densities
    uploads, events = answered(ctx, [one.upload for one in done if one.upload and one.fate != "missing"])
    sent, charge = messages(ctx, seen, plan, densities, uploads, {}, 0), ctx.environment.clock.charge
    fate, in_time = [one.fate or None for one in done], [one.counts for one in done]
    spent = Spent(*(np.array([getattr(one, name) for one in done]) for name in ("down", "compute", "up", "seconds")))
    timing = Timing(charge, seen.now, {charge: Seconds(0.0, spent, now - seen.now)})  # of the clock that it went by
    took = {one.order.client: one.seconds for one in done}
    arrived = accept(ctx, uploads, sent, fate, in_time, timing, took)
    sizes = arrived.sent.payloads
    arrived = replace(arrived, sent=together(begun, sent), events=events + arrived.events)
    answers = Answers(
        uploads,
        plan.cohort,
        densities,
        up=np.array([one.link for one in done]),
        staleness=np.array([t - one.order.round for one in done], np.int64),
        arrived=arrived,
        fetched=arrived.sent.selected[arrived.sent.densities > 0],  # of the others nobody knows
        mixed=mixed(ctx, done, arrived.updates) if method.async_mode.mixes == "models" else {},
    )
    result = aggregate(ctx, seen, plan, answers)
    played = conclude(ctx, seen, plan, answers, result, started=arrived.sent.selected)
    record = replace(played.record, bytes=replace(played.record.bytes, up_clients=sizes))
    return replace(played, server=replace(played.server, flights=tuple(at_work)), record=record)


def plan_of(ctx: RoundContext, done: Sequence[InFlight]) -> Plan:
    """The plan of those who are done, each as it was told at its start."""
    orders, compress = [one.order for one in done], ctx.method.compress
    densities = np.array([order.density for order in orders])
    cohort = Cohort(
        np.array([order.client for order in orders], np.int64),
        np.array([one.inclusion for one in done]),
        state=ctx.server.of("select"),
        steps=np.array([order.steps for order in orders], np.int64),
        variances=np.array([compress.variance(d) for d in densities]) if isinstance(compress, Coder) else None,
    )
    last = done[-1]
    allocation = Allocation(last.theta, densities, last.order.warmup)
    return Plan(cohort, np.full(len(done), 0.5), allocation, last.order.beta, orders)


def together(begun: Sequence[Messages], none: Messages) -> Messages:
    """All that was sent for those who started in this step; of `none` where nobody did."""
    nobody = replace(none, selected=none.selected[:0], densities=none.densities[:0], payloads=[], reports=0)
    parts = [nobody, *begun]
    return replace(
        nobody,
        selected=np.concatenate([one.selected for one in parts]),
        densities=np.concatenate([one.densities for one in parts]),
        payloads=[size for one in parts for size in one.payloads],
        reports=sum(one.reports for one in parts),
    )


def mixed(ctx: RoundContext, done: Sequence[InFlight], updates: Mapping[int, Update]) -> dict[int, Update]:
    """The way from the present model to the one that each stale update leads to: w_k + Δ_k − w."""
    found, present = {}, ctx.server.weights.vector.numpy()
    for one in done:
        client = one.order.client
        if client in updates and one.order.round < ctx.number:
            found[client] = Update.whole(updates[client].dense() + (one.model.vector.numpy() - present))
    return found
