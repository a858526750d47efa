"""Eqs 13 and 14: what arrived is weighed and aggregated, and the server's model makes a step."""

import numpy as np
import torch

from heteroselect.core.flat import Weights
from heteroselect.core.state import PartState
from heteroselect.parts.compress import Guided
from heteroselect.parts.train import ServerContext, TwoSided
from heteroselect.round.method import naming
from heteroselect.round.stages import Answers, Observation, Plan, Result, RoundContext
from heteroselect.round.stages.after_step import fetched, recalibrate, send_down, show


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
