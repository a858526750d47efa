"""Eqs 13 and 14: what arrived is weighed and aggregated, and the server's model makes a step, which is coded for
its way down; batch-norm statistics are measured for the new model, and it is taken into the average."""

from dataclasses import replace

import numpy as np
import torch

from heteroselect.core.arrays import Counts
from heteroselect.core.flat import Weights
from heteroselect.core.messages import Calibrate
from heteroselect.core.state import PartState
from heteroselect.core.update import Values
from heteroselect.parts.compress import Guided
from heteroselect.parts.train import ServerContext, TwoSided
from heteroselect.round.method import naming
from heteroselect.round.shown import point, shown
from heteroselect.round.stages import Answers, Observation, Plan, Result, RoundContext
from heteroselect.world.ledger import Calibrated


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
