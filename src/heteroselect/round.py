"""THE ROUND: observe → score → select → allocate → train and compress → aggregate → record.

This is Algorithm 1 of the paper. Where the clients run is the engine's business, what the links are is
the world's, and every decision is the method's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from heteroselect.aggregate import weighted_sum
from heteroselect.allocate import Means
from heteroselect.compress.update import Values
from heteroselect.compress.wire import decode
from heteroselect.errors import HeteroSelectError
from heteroselect.flat import Layout, Weights
from heteroselect.messages import Calibrate, Order, Question, Upload
from heteroselect.method import Method
from heteroselect.moment import Moment
from heteroselect.population import Counts, Population
from heteroselect.streams import Streams
from heteroselect.world import World
from heteroselect.world.clock import round_seconds, upload_seconds
from heteroselect.world.ledger import Bytes, paper_bytes, scoring_bytes


class Engine(Protocol):
    """Where clients run. It carries messages; answers come in the order of the questions."""

    @property
    def layout(self) -> Layout: ...
    def losses(self, weights: Weights, questions: Sequence[Question]) -> list[float]: ...
    def train(self, weights: Weights, orders: Sequence[Order]) -> list[Upload]: ...
    def calibrate(self, weights: Weights, request: Calibrate) -> dict[str, Tensor]: ...
    def evaluate(self, weights: Weights) -> float: ...


@dataclass
class Server:
    """All that the server carries from round to round."""

    weights: Weights
    momentum: Values
    population: Population


@dataclass(frozen=True)
class Record:
    """What a round was: who spoke, how much, how loudly, and what came of it."""

    round: int
    accuracy: float | None
    loss_mean: float | None
    selected: list[int]
    scores: list[float]
    densities: list[float]
    weights: list[float]
    bandwidth_mbps: list[float]
    seconds: float
    bytes: Bytes
    tau: float | None
    theta: float
    beta: float
    learning_rate: float
    score_parts: dict[str, float]


def play_round(
    moment: Moment,
    server: Server,
    method: Method,
    engine: Engine,
    world: World,
    streams: Streams,
    *,
    selected: int,
    evaluate: bool = True,
) -> Record:
    """One round: `server` moves on in place, and the record of what happened is returned."""
    population, t = server.population, moment.round

    # observe and score (eqs 1 to 5)
    asked = observe(t, server, method, engine, world)
    scores = method.score.score(population, moment)

    # select (eq. 6); the links are drawn only now
    cohort = method.select.select(scores.total, selected, moment, streams.numpy("selection", round=t))
    ids = cohort.ids
    population.selected(ids, t)
    bandwidth = world.links.draw(population.losses, streams.numpy("links", round=t))[ids]

    # allocate (eqs 7 and 8), and with it everything else a client is told (eqs 9, 12, 13)
    means = Means(bandwidth, world.step_seconds[ids], method.train.steps, world.budget_seconds, engine.layout.size)
    allocation = method.allocate.allocate(scores.total[ids], means, moment)
    weights = method.weigh.of(scores.total[ids], cohort.inclusion)
    beta = method.memory.beta(allocation.theta)
    rates = method.rate.of_clients(moment, scores.total[ids])
    orders = [
        Order(int(k), t, rate, float(density), beta, float(weight), allocation.warmup)
        for k, rate, density, weight in zip(ids, rates, allocation.densities, weights, strict=True)
    ]

    # train and compress (eqs 9 to 12), at the clients
    uploads = engine.train(server.weights, orders)

    # aggregate (eqs 13 and 14), in the order of the clients' numbers whatever the order drawn
    updates = {upload.client: decode(upload.payload, engine.layout.size) for upload in uploads}
    ordered = np.argsort(ids)
    aggregate = weighted_sum(engine.layout.size, [updates[int(k)] for k in ids[ordered]], weights[ordered])
    server.momentum, step = method.server.step(server.momentum, aggregate)
    server.weights = Weights(server.weights.vector + torch.from_numpy(step), server.weights.buffers)
    for client, update in updates.items():
        population.received(client, update)
    population.agree(aggregate, method.consensus_keep)
    calibration = recalibrate(t, server, method, engine, ids)

    # record
    upload_time = upload_seconds(allocation.densities, bandwidth, engine.layout.size)
    return Record(
        round=t,
        accuracy=engine.evaluate(server.weights) if evaluate else None,
        loss_mean=float(population.losses.mean()) if np.isfinite(population.losses).all() else None,
        selected=ids.tolist(),
        scores=scores.total[ids].tolist(),
        densities=allocation.densities.tolist(),
        weights=weights.tolist(),
        bandwidth_mbps=(bandwidth / 1e6).tolist(),
        seconds=round_seconds(upload_time, world.step_seconds[ids], method.train.steps),
        bytes=Bytes(
            up_paper=paper_bytes(allocation.densities, engine.layout.size),
            up=sum(len(upload.payload) for upload in uploads),
            down=len(ids) * server.weights.nbytes,
            scoring=scoring_bytes(asked, len(ids), server.weights.nbytes),
            calibration=calibration,
        ),
        tau=cohort.tau,
        theta=allocation.theta,
        beta=beta,
        learning_rate=method.rate.eta(moment),
        score_parts={name: float(part.mean()) for name, part in scores.parts.items()},
    )


def observe(t: int, server: Server, method: Method, engine: Engine, world: World) -> int:
    """Ask all clients for their loss where the method (or a stressed world) needs it; how many the method asked."""
    needed = "losses" in method.score.needs
    if needed or world.links.stress != "none":
        everybody = range(len(server.population))
        score = method.score
        questions = [Question(k, t, score.batches, method.train.batch, score.augmented) for k in everybody]
        losses = np.array(engine.losses(server.weights, questions))
        if not np.isfinite(losses).all():
            client = int(np.flatnonzero(~np.isfinite(losses))[0])
            raise HeteroSelectError(
                f"method.train.rate: the model diverged before round {t} (its loss at client {client} is not finite); "
                "allowed is a rate low enough to train with."
            )
        server.population.losses = losses
    return len(server.population) if needed else 0


def recalibrate(t: int, server: Server, method: Method, engine: Engine, ids: Counts) -> int:
    """Measure batch-norm statistics for the new model at the first clients drawn; the bytes it took."""
    if not server.weights.has_statistics:
        return 0
    total, size = 0, method.train.batch
    available = [-(-int(server.population.sizes[k]) // size) for k in ids]
    for client, batches in zip(ids, method.calibrate.plan(available), strict=False):
        if batches:
            request = Calibrate(int(client), t, batches, size)
            buffers = engine.calibrate(server.weights, request)
            answer = Weights(server.weights.vector, buffers)
            total += server.weights.nbytes + sum(b.numel() * b.element_size() for b in buffers.values())
            server.weights = answer
    return total
