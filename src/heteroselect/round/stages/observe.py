"""Eqs 1 to 5: who is there with what to work with, which losses clients tell, and their scores."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import SelectionContext, among
from heteroselect.core.conditions import Coder, Conditions
from heteroselect.core.messages import Question
from heteroselect.errors import HeteroSelectError
from heteroselect.round.claims import bounded_losses
from heteroselect.round.method import Wanting, naming
from heteroselect.round.stages import Observation, RoundContext
from heteroselect.world import refuse_bad_conditions


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


def wait_for_clients(ctx: RoundContext, losses: Callable[[], Reals]) -> tuple[Conditions, float]:
    """What clients have to work with, at the first moment from now on at which anybody is there; and that moment."""
    now = ctx.server.now
    while not (found := conditions_at(ctx, now, losses)).available.any():
        now = when_somebody_comes(found, now)
    return found, now


def when_somebody_comes(found: Conditions, now: float) -> float:
    """The next simulated second at which it is worth looking again; nobody was there `now`."""
    if not now < found.changes < np.inf:
        raise HeteroSelectError(f"world: nobody is available at second {now:g}, and nobody comes later.")
    return found.changes


def conditions_at(ctx: RoundContext, now: float, losses: Callable[[], Reals]) -> Conditions:
    """What all clients have to work with at a simulated second, with what the method makes of it."""
    method, environment, clients = ctx.method, ctx.environment, len(ctx.server.population)
    found = environment.world.conditions(ctx.number, now, clients, losses, ctx.streams)
    refuse_bad_conditions(found, clients)
    return replace(
        found,
        passes=method.passes * ctx.steps,
        size=ctx.clients.layout.size,
        real_bits=None if environment.clock.charge == "paper" else method.quantize.bits,
        budget_seconds=environment.budget_seconds,
        coder=method.compress if isinstance(method.compress, Coder) else None,
    )


def ask_losses(ctx: RoundContext, asked: Counts) -> Reals:
    """The losses of those asked, under the model of this round; NaN for all others."""
    score, size, t = ctx.method.score, ctx.method.solver.batch, ctx.number
    questions = [Question(int(k), t, score.batches, size, score.augmented) for k in asked]
    losses = np.full(len(ctx.server.population), np.nan)
    losses[asked] = ctx.clients.losses(ctx.model, questions) if questions else []
    losses = ctx.environment.attack.losses(losses, ctx.hostile)
    wrong = asked[~np.isfinite(losses[asked])]
    right = len(asked) - len(wrong)
    if len(wrong) and (right < max(3, len(wrong)) or not ctx.method.outlier_filter.claims):  # no majority to go by
        client = int(wrong[0])
        raise HeteroSelectError(
            f"method.lr.start: the model diverged before round {t} (its loss at client {client} is not finite); "
            "allowed is a rate low enough to train with."
        )
    return losses
