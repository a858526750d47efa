"""What follows a step of the model: it is coded for its way down, batch-norm statistics are measured for it, and it is
taken into the average."""

from dataclasses import replace

from heteroselect.core.arrays import Counts
from heteroselect.core.flat import Weights
from heteroselect.core.messages import Calibrate
from heteroselect.core.state import PartState
from heteroselect.core.update import Values
from heteroselect.round.method import naming
from heteroselect.round.shown import point, shown
from heteroselect.round.stages import RoundContext
from heteroselect.world.ledger import Calibrated


def send_down(ctx: RoundContext, there: Counts, step: Values | None) -> tuple[PartState, Values | None]:
    """Code the server's step for its way down: who has got the model of this round (`there`) and what else the role
    keeps, and the step as clients will decode it."""
    method, rng = ctx.method, ctx.streams.numpy("down", round=ctx.number)
    kept = fetched(ctx, ctx.server.of("downlink"), there, ctx.server.round)
    with naming("downlink"):
        return method.downlink.code(kept, step, ctx.clients.layout.layer_ends, rng)


def fetched(ctx: RoundContext, kept: PartState, ids: Counts, round: int) -> PartState:
    """What the role `down` keeps once these clients have got the model after `round`."""
    with naming("downlink"):
        return ctx.method.downlink.fetched(kept, ids, round, len(ctx.server.population))


def recalibrate(ctx: RoundContext, model: Weights, ids: Counts) -> tuple[Weights, list[Calibrated]]:
    """Measure batch-norm statistics for the new model at the first clients that answered; who did how much of it."""
    done: list[Calibrated] = []
    if not model.has_statistics or len(ids) == 0:
        return replace(model, trail=None), done
    size, lacking = ctx.method.solver.batch, model.downloads
    available = [-(-int(ctx.server.population.sizes[k]) // size) for k in ids]
    for client, batches in zip(ids, ctx.method.calibrate.plan(available), strict=False):
        if batches:
            buffers = ctx.clients.calibrate(model, Calibrate(int(client), ctx.number, batches, size))
            answer = sum(buffer.numel() * buffer.element_size() for buffer in buffers.values())
            done.append(Calibrated(int(client), batches, answer, None if lacking is None else int(lacking[client])))
            model = replace(model, buffers=buffers)
    return replace(model, trail=None), done


def show(
    ctx: RoundContext, state: dict[str, PartState], model: Weights, ids: Counts
) -> tuple[dict[str, PartState], list[Calibrated]]:
    """Take the new model into the average. Where another model is shown than clients go on from, batch-norm statistics
    are measured for that one, too."""
    method = ctx.method
    there = point(method, state, model.vector.numpy())
    state = {**state, "model_average": method.model_average.add(ctx.server.of("model_average"), there, ctx.moment)}
    other = shown(method, state, model)
    if other is model or not model.has_statistics:
        return state, []
    other, calibrated = recalibrate(ctx, other, ids)
    return {**state, "calibrate": {name: buffer.numpy() for name, buffer in other.buffers.items()}}, calibrated
