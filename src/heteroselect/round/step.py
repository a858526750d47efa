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
from heteroselect.core.cohort import Cohort, Situation
from heteroselect.core.conditions import Coder
from heteroselect.core.messages import Upload
from heteroselect.core.moment import Moment
from heteroselect.core.part import kind_of
from heteroselect.core.streams import Streams
from heteroselect.errors import HeteroSelectError
from heteroselect.parts.allocate import Allocation
from heteroselect.parts.compress import Update
from heteroselect.round.method import Method
from heteroselect.round.receive import accept, fates
from heteroselect.round.round import aggregate, select_and_allocate
from heteroselect.round.server import Clients, Flight, Played, Server
from heteroselect.round.stages import Answers, Plan, Round, Seen
from heteroselect.round.stages.answers import answered, asked_for, messages, passes
from heteroselect.round.stages.conclude import conclude
from heteroselect.round.stages.observe import ask_losses, conditions_at, when_somebody_comes
from heteroselect.world import Environment
from heteroselect.world.clock import Spent
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
) -> Played:
    """Compute one step of the server, from the simulated second `server.now` to the k-th answer after it."""
    this = Round(replace(moment, now=server.now), server, method, clients, environment, streams, selected)
    losses = cache(lambda: ask_losses(this, np.arange(len(server.population))))  # of a stressed world, for nothing
    now, places, size = server.now, method.wait.concurrency or selected, method.wait.size
    at_work, done, begun = trained_again(clients, server.flights), list[Flight](), list[Messages]()
    while sum(one.counts for one in done) < size:
        busy = np.array([one.order.client for one in (*at_work, *done)], np.int64)
        room = places - len(at_work)
        seen = observe(this, now, busy, losses)
        if room > 0 and len(seen.scores.ids):
            drawn = sum(len(sent.selected) for sent in begun)
            moment = replace(moment, now=now)
            this, more, sent = start(replace(this, moment=moment, selected=room, draw=drawn), seen)
            at_work, begun = at_work + more, [*begun, sent]
        elif at_work:
            now, arrived = arrivals(at_work, now, until=seen.conditions.changes if room > 0 else np.inf)
            while arrived and sum(one.counts for one in done) < size:
                done.append(arrived.pop(0))
            at_work = [one for one in at_work if one not in done]
        elif done:
            break  # everybody has had a turn or is away: the step is made of what there is
        else:
            now = when_somebody_comes(seen.conditions, now)
    return take_in(this, replace(seen, now=server.now), done, at_work, begun, now)


def trained_again(clients: Clients, flights: Sequence[Flight]) -> list[Flight]:
    """Those at work, with their uploads: after a restart their clients train again, from the models of their starts."""
    lost: dict[int, list[Flight]] = {}
    for one in flights:
        if one.upload is None:
            lost.setdefault(one.order.round, []).append(one)
    uploads: dict[int, Upload] = {}
    for some in lost.values():
        uploads |= {up.client: up for up in clients.train(some[0].model, [one.order for one in some], {})}
    return [replace(one, upload=one.upload or uploads[one.order.client]) for one in flights]


def observe(this: Round, now: float, busy: Counts, losses: Callable[[], Reals]) -> Seen:
    """What the server knows before somebody starts: who is there and free, and what these have to work with."""
    conditions = conditions_at(this, now, losses)
    free = np.setdiff1d(np.flatnonzero(conditions.available), busy)
    here = Situation(this.moment, free, this.server.population.only(free), state=this.server.of("score"))
    return Seen(now, conditions, free[:0], this.server.population, this.method.score.score(here), [])


def start(this: Round, seen: Seen) -> tuple[Round, list[Flight], Messages]:
    """Draw who starts next and let them train: what they work with is known at their start, and so is when each will be
    done. Returns the round with what the selector keeps, those who are at work now, and what is sent for them."""
    method, environment, server = this.method, this.environment, this.server
    plan = select_and_allocate(this, seen)
    ids, densities = plan.cohort.ids, plan.allocation.densities
    if len(ids) > this.selected:
        raise HeteroSelectError(
            f"method.select: it chose {len(ids)} clients where {this.selected} may start; allowed with wait "
            f"{kind_of(method.wait)} is no more than that."
        )
    uploads = {upload.client: upload for upload in this.clients.train(this.model, plan.orders, {})}
    sent = messages(this, seen, plan, densities, uploads, {}, asked_for(uploads))
    spent = environment.clock.spent(sent, seen.conditions, passes(plan, method), seen.now)
    fate = fates(this.number, seen.now, uploads, sent, spent.total, seen.conditions, environment, this.streams)
    seconds, dropped = environment.faults.each(spent.total, fate)
    flights = [
        Flight(
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
    return replace(this, server=server), flights, sent


def arrivals(at_work: Sequence[Flight], now: float, until: float) -> tuple[float, list[Flight]]:
    """When the next work ends and whose, in that order; nobody's where somebody may come or go first, at `until`."""
    first = min(one.arrives for one in at_work)
    if now < until < first:
        return until, []
    now = max(now, first)
    return now, sorted((one for one in at_work if one.arrives <= now), key=lambda one: one.arrives)


def take_in(
    this: Round, seen: Seen, done: list[Flight], at_work: list[Flight], begun: list[Messages], now: float
) -> Played:
    """Make a step of the answers that are there, at the second `now`; what was sent is that of those who began."""
    method, t = this.method, this.number
    plan = plan_of(this, done)
    densities = plan.allocation.densities
    uploads, events = answered(this, [one.upload for one in done if one.upload and one.fate != "missing"])
    sent, kept = messages(this, seen, plan, densities, uploads, {}, 0), this.server.of("screen").get("lengths")
    fate, in_time = [one.fate or None for one in done], [one.counts for one in done]
    spent = Spent(*(np.array([getattr(one, name) for one in done]) for name in ("down", "compute", "up", "seconds")))
    arrived = accept(t, uploads, sent, fate, in_time, spent, method, this.environment, this.streams, kept)
    sizes = arrived.sent.payloads
    arrived = replace(
        arrived,
        took={one.order.client: one.seconds for one in done},
        sent=together(begun, sent),
        seconds=now - seen.now,
        events=events + arrived.events,
        other_clocks={this.environment.clock.charge: now - seen.now},
    )
    answers = Answers(
        uploads,
        plan.cohort,
        densities,
        up=np.array([one.link for one in done]),
        staleness=np.array([t - one.order.round for one in done], np.int64),
        arrived=arrived,
        fetched=arrived.sent.selected[arrived.sent.densities > 0],  # of the others nobody knows
        mixed=mixed(this, done, arrived.updates) if method.wait.mixes == "models" else {},
    )
    result = aggregate(this, seen, plan, answers)
    played = conclude(this, seen, plan, answers, result, started=arrived.sent.selected)
    record = replace(played.record, bytes=replace(played.record.bytes, up_clients=sizes))
    return replace(played, server=replace(played.server, flights=tuple(at_work)), record=record)


def plan_of(this: Round, done: Sequence[Flight]) -> Plan:
    """The plan of those who are done, each as it was told at its start."""
    orders, compress = [one.order for one in done], this.method.compress
    densities = np.array([order.density for order in orders])
    cohort = Cohort(
        np.array([order.client for order in orders], np.int64),
        np.array([one.inclusion for one in done]),
        state=this.server.of("select"),
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


def mixed(this: Round, done: Sequence[Flight], updates: Mapping[int, Update]) -> dict[int, Update]:
    """The way from the present model to the one that each stale update leads to: w_k + Δ_k − w."""
    found, present = {}, this.server.weights.vector.numpy()
    for one in done:
        client = one.order.client
        if client in updates and one.order.round < this.number:
            found[client] = Update.whole(updates[client].dense() + (one.model.vector.numpy() - present))
    return found
