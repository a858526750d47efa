"""Eqs 9 to 12, at the clients: they train and compress, and the server waits for what arrives."""

from dataclasses import replace

import numpy as np

from heteroselect.parts.compress import Guided
from heteroselect.parts.select import SendAll
from heteroselect.round.stages import Answers, Observation, Plan, RoundContext
from heteroselect.round.stages.answers import answered, asked_for, goes_down, messages, passes
from heteroselect.round.stages.receive import choose, receive


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
