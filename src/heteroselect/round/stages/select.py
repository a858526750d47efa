"""Eqs 6 to 9, and 12: who takes part, how much each may send, and what each is told."""

from dataclasses import replace

import numpy as np

from heteroselect.core.cohort import SelectionContext, checked
from heteroselect.core.messages import Order
from heteroselect.core.traits import traits_of
from heteroselect.parts.select import SendAll
from heteroselect.round.method import naming
from heteroselect.round.stages import Observation, Plan, RoundContext


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
