"""Who is there with what to work with, and which losses clients tell."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.conditions import Coder, Conditions
from heteroselect.core.messages import Question
from heteroselect.errors import HeteroSelectError
from heteroselect.round.stages import RoundContext
from heteroselect.world import refuse_bad_conditions


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
