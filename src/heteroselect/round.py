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
from heteroselect.population import Counts, Population, Reals
from heteroselect.streams import Streams
from heteroselect.world import World
from heteroselect.world.ledger import Bytes, Calibrated, Messages


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
    asked = method.score.asks(population, streams.numpy("questions", round=t))
    population.losses = observe(t, asked, server, method, engine)
    scores = method.score.score(population, moment)

    # select (eq. 6); the links are drawn only now
    cohort = method.select.select(scores.total, selected, moment, streams.numpy("selection", round=t))
    ids, score = scores.ids[cohort.ids], scores.total[cohort.ids]
    population.selected(ids, t)
    speeds = world.speeds(stress(t, server, method, engine, world), streams, t)

    # allocate (eqs 7 and 8), and with it everything else a client is told (eqs 9, 12, 13)
    means = Means(
        bandwidth=speeds.up[ids],
        step_seconds=speeds.step_seconds[ids],
        steps=method.train.steps,
        budget_seconds=world.budget_seconds,
        size=engine.layout.size,
        real_bits=None if world.clock.charge == "paper" else method.values.bits,
    )
    allocation = method.allocate.allocate(score, means, moment)
    weights = method.weigh.of(score, cohort.inclusion)
    beta = method.memory.beta(allocation.theta)
    rates = method.rate.of_clients(moment, score)
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
    for upload in uploads:
        population.received(upload.client, updates[upload.client], upload.loss)
    population.agree(aggregate, method.consensus_keep)
    calibrated = recalibrate(t, server, method, engine, ids)

    # record
    payloads = {upload.client: len(upload.payload) for upload in uploads}
    sent = Messages(
        size=engine.layout.size,
        model=server.weights.nbytes,
        asked=asked,
        selected=ids,
        densities=allocation.densities,
        payloads=[payloads[int(k)] for k in ids],
        calibrated=calibrated,
    )
    return Record(
        round=t,
        accuracy=engine.evaluate(server.weights) if evaluate else None,
        loss_mean=float(population.losses.mean()) if np.isfinite(population.losses).all() else None,
        selected=ids.tolist(),
        scores=score.tolist(),
        densities=allocation.densities.tolist(),
        weights=weights.tolist(),
        bandwidth_mbps=(speeds.up[ids] / 1e6).tolist(),
        seconds=world.clock.seconds(sent, speeds, method.train.steps, method.score.batches),
        bytes=sent.bytes(),
        tau=cohort.tau,
        theta=allocation.theta,
        beta=beta,
        learning_rate=method.rate.eta(moment),
        score_parts={name: float(part.mean()) for name, part in scores.parts.items()},
    )


def observe(t: int, asked: Counts, server: Server, method: Method, engine: Engine) -> Reals:
    """The losses of those asked, under the model of this round; NaN of all others."""
    score, size = method.score, method.train.batch
    questions = [Question(int(k), t, score.batches, size, score.augmented) for k in asked]
    losses = np.full(len(server.population), np.nan)
    losses[asked] = engine.losses(server.weights, questions) if questions else []
    if not np.isfinite(losses[asked]).all():
        client = int(asked[~np.isfinite(losses[asked])][0])
        raise HeteroSelectError(
            f"method.train.rate: the model diverged before round {t} (its loss at client {client} is not finite); "
            "allowed is a rate low enough to train with."
        )
    return losses


def stress(t: int, server: Server, method: Method, engine: Engine, world: World) -> Reals:
    """The losses that a stressed world couples its links to. The world knows them; nobody is charged for it."""
    losses = server.population.losses
    if world.links.stress == "none" or np.isfinite(losses).all():
        return losses
    return observe(t, np.arange(len(losses)), server, method, engine)


def recalibrate(t: int, server: Server, method: Method, engine: Engine, ids: Counts) -> list[Calibrated]:
    """Measure batch-norm statistics for the new model at the first clients drawn; who did how much of it."""
    if not server.weights.has_statistics:
        return []
    done, size = [], method.train.batch
    available = [-(-int(server.population.sizes[k]) // size) for k in ids]
    for client, batches in zip(ids, method.calibrate.plan(available), strict=False):
        if batches:
            buffers = engine.calibrate(server.weights, Calibrate(int(client), t, batches, size))
            answer = sum(buffer.numel() * buffer.element_size() for buffer in buffers.values())
            done.append(Calibrated(int(client), batches, answer))
            server.weights = Weights(server.weights.vector, buffers)
    return done
