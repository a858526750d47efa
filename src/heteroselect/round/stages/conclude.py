"""The end of a round: its record, and what the server knows afterwards."""

from dataclasses import replace

import numpy as np

from heteroselect.core.arrays import Counts
from heteroselect.core.cohort import Outcome
from heteroselect.core.population import Population
from heteroselect.core.state import PartState
from heteroselect.parts.compress import Update
from heteroselect.round.server import Clients, Record, Remote, RoundOutcome, Server
from heteroselect.round.stages import Answers, Arrived, Observation, Plan, Result, RoundContext
from heteroselect.round.stages.receive import remembered
from heteroselect.world import Event
from heteroselect.world.note import world_note


def conclude(
    ctx: RoundContext, seen: Observation, plan: Plan, answers: Answers, result: Result, *, started: Counts | None = None
) -> RoundOutcome:
    """The record, and what the server knows afterwards. Those selected were `started`, where these are others than
    answered."""
    method, ids, arrived = ctx.method, plan.cohort.ids, answers.arrived
    record = recorded(ctx, seen, plan, answers, result)
    received: dict[int, Update] = {}
    if "uploads" in method.needs:
        received = {k: remembered(update, method, ctx.streams) for k, update in arrived.updates.items()}
    population = known(seen.population, answers, ids if started is None else started, ctx.number)
    state = learned(ctx, plan, answers, result, remember=bool(received))
    after = Server(result.model, population, state, ctx.number, ctx.server.now + record.seconds)
    used = {int(k): int(k) in arrived.updates for k in ids}
    return RoundOutcome(after, record, used, received)


def recorded(ctx: RoundContext, seen: Observation, plan: Plan, answers: Answers, result: Result) -> Record:
    """What is written down of the round; its seconds are told by all clocks that go with it."""
    method, ids, arrived, clock = ctx.method, plan.cohort.ids, answers.arrived, ctx.environment.clock
    losses = seen.population.losses
    sent = replace(arrived.sent, calibrated=result.calibrated)
    waited, timing = seen.now - ctx.server.now, arrived.timing.calibrated(clock, sent, seen.conditions)
    by_charge: dict[str, float] = {charge: waited + one.total for charge, one in timing.by_charge.items()}
    kept = [upload.report["memory"] for upload in answers.uploads.values() if "memory" in upload.report]
    return Record(
        round=ctx.number,
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
        learning_rate=method.lr.eta(ctx.moment),
        memory_norm=float(np.mean(kept)) if kept else None,
        score_parts={name: float(part.mean()) for name, part in seen.scores.parts.items()},
        events=with_troubles(arrived, ctx.clients),
        world=world_note(seen.conditions, timing, took=np.array([arrived.took[int(k)] for k in ids]), waited=waited),
    )


def known(population: Population, answers: Answers, selected: Counts, t: int) -> Population:
    """What the server knows of the clients from now on."""
    uploads, arrived = answers.uploads, answers.arrived
    reports = {k: {**uploads[k].report, "seconds": arrived.took[k], "round": float(t)} for k in arrived.updates}
    nobody = np.full(len(population), np.nan)  # losses are of one model, and that has just changed
    return replace(population, losses=nobody).selected(selected, t).reported_by(reports)


def learned(ctx: RoundContext, plan: Plan, answers: Answers, result: Result, *, remember: bool) -> dict[str, PartState]:
    """What the parts keep once they were told what came of the round; the aggregate they are told where uploads are
    remembered, and as those are."""
    method, updates, mean = ctx.method, answers.arrived.updates, result.aggregate
    average = remembered(Update.whole(mean), method, ctx.streams) if remember and mean is not None else None
    norms = np.array([answers.uploads[k].report.get("norm", np.nan) for k in updates])
    outcome = Outcome(ctx.number, np.array(list(updates), np.int64), plan.allocation.theta, norms, average)
    state = dict(result.state)
    for role in ("score", "select", "allocate"):
        part = getattr(method, role)
        if hasattr(part, "learn"):
            state[role] = part.learn(state.get(role, {}), outcome)
    return {role: one for role, one in state.items() if one}


def with_troubles(arrived: Arrived, clients: Clients) -> list[Event]:
    """The events of the round, with what the engine says went wrong: where it is why an answer is missing, there."""
    if not isinstance(clients, Remote):
        return arrived.events
    clients.decoded(arrived.decoding)
    missing = {event.client for event in arrived.events if event.kind == "missing"}
    why, others = dict[int, list[str]](), list[Event]()
    for trouble in clients.troubles():
        if trouble.client in missing and trouble.kind == "trouble":
            why.setdefault(trouble.client, []).append(trouble.detail)
        else:
            others.append(trouble)
    return [
        replace(event, detail="; ".join(why.get(event.client, []))) if event.kind == "missing" else event
        for event in arrived.events
    ] + others
