"""Eqs 9 to 12, at the clients: what goes down with a model, what they answer, and the wait for what arrives."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.messages import Upload
from heteroselect.core.state import PartState, flat
from heteroselect.parts.compress import Guided
from heteroselect.parts.compress.wire import table_with
from heteroselect.parts.select import SendAll
from heteroselect.parts.train import TwoSided
from heteroselect.round.claims import bounded_reports
from heteroselect.round.method import Method
from heteroselect.round.stages import Answers, Observation, Plan, RoundContext
from heteroselect.round.stages.receive import choose, receive
from heteroselect.world import Event
from heteroselect.world.ledger import Messages

ASKED = ("label", "variance")
"""Numbers of a report that a part asked for; those that come with every update are part of it."""


def train_and_receive(ctx: RoundContext, seen: Observation, plan: Plan) -> Answers:
    """Let the clients train and compress; then wait for what arrives."""
    method, cohort, ids = ctx.method, plan.cohort, plan.cohort.ids
    shared, densities = goes_down(ctx), plan.allocation.densities
    uploads, events = answered(ctx, ctx.clients.train(ctx.model, plan.orders, shared))
    if isinstance(method.compress, Guided):
        densities = densities * method.compress.share(ctx.server.of("compress"))
    reports, enough = asked_for(uploads), cohort.enough
    if not isinstance(method.second_selection, SendAll):  # of all who trained, only those chosen now send
        rng, reports, enough = ctx.streams.numpy("choice", round=ctx.number), reports + len(ids), 0
        cohort, chosen = choose(cohort, uploads, seen.population.sizes, method.second_selection, ctx.selected, rng)
        densities = np.where(np.isin(ids, chosen), densities, 0.0)
        uploads, more = answered(ctx, ctx.clients.collect(ctx.model, chosen))
        events = events + more
    sent = messages(ctx, seen, plan, densities, uploads, shared, reports)
    arrived = receive(ctx, seen, uploads, sent, passes(plan, method), enough)
    arrived = replace(arrived, events=seen.events + events + arrived.events)
    missing = [event.client for event in arrived.events if event.kind == "missing"]
    # of a client that did not answer nobody knows whether it got the model
    there = np.union1d(seen.asked, np.setdiff1d(ids, missing))
    return Answers(uploads, cohort, densities, seen.conditions.up[ids], np.zeros(len(ids), np.int64), arrived, there)


def goes_down(ctx: RoundContext) -> PartState:
    """What goes down with the model: of a solver with a half at the server, and of a compressor with one."""
    method, server = ctx.method, ctx.server
    solver = method.solver.shared(server.of("solver")) if isinstance(method.solver, TwoSided) else {}
    guide = method.compress.told(server.of("compress")) if isinstance(method.compress, Guided) else {}
    return {**solver, **flat({"compress": guide})}


def answered(ctx: RoundContext, uploads: Sequence[Upload]) -> tuple[dict[int, Upload], list[Event]]:
    """The uploads by client, with what hostile clients make of theirs and claims bounded; and what was not believed."""
    method, attack = ctx.method, ctx.environment.attack
    codecs = table_with(getattr(method.compress, "codec", None))
    sent, size, bound = {one.client: one for one in uploads}, ctx.clients.layout.size, method.outlier_filter.bound
    sent = attack.uploads(sent, ctx.hostile, size, bound, ctx.number, ctx.streams, codecs)
    return bounded_reports(sent, method.outlier_filter.claims, labels="labels" in method.needs)


def asked_for(uploads: Mapping[int, Upload]) -> int:
    """How many of the numbers that were reported a part had asked for."""
    return sum(name.startswith(ASKED) for upload in uploads.values() for name in upload.report)


def messages(
    ctx: RoundContext,
    seen: Observation,
    plan: Plan,
    densities: Reals,
    uploads: dict[int, Upload],
    shared: PartState,
    reports: int,
) -> Messages:
    """All that is sent for a plan; `reports` are numbers that go up before the updates."""
    return Messages(
        size=ctx.clients.layout.size,
        model=ctx.server.weights.nbytes,
        asked=seen.asked,
        selected=plan.cohort.ids,
        densities=densities,
        payloads=[len(uploads[int(k)].payload) if int(k) in uploads else 0 for k in plan.cohort.ids],
        shared=sum(array.nbytes for array in shared.values()),
        reports=reports,
        probe=np.where(densities < 1, 0.0 if plan.allocation.warmup else ctx.method.probe, 0.0),
        downloads=ctx.model.downloads,
        held=not isinstance(ctx.method.second_selection, SendAll),
    )


def passes(plan: Plan, method: Method) -> Reals:
    """Passes over a batch that each client is ordered."""
    return np.array([method.passes * order.steps for order in plan.orders])
