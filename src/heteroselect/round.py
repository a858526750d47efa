"""THE ROUND: observe → score → select → allocate → train and compress → aggregate → record.

This is Algorithm 1 of the paper. Where the clients run is the engine's business, what the links are is
the world's, and every decision is the method's.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from heteroselect.aggregate import weighted_sum
from heteroselect.allocate import Means
from heteroselect.arrays import Counts, Reals
from heteroselect.compress import Kept, Update
from heteroselect.errors import HeteroSelectError
from heteroselect.flat import Layout, Weights
from heteroselect.messages import Calibrate, Order, Question, Upload
from heteroselect.method import Method
from heteroselect.moment import Moment
from heteroselect.population import Population
from heteroselect.receive import choose, listen, signal
from heteroselect.select import Situation, checked
from heteroselect.streams import Streams
from heteroselect.train import Turn
from heteroselect.world import Event, World
from heteroselect.world.ledger import Bytes, Calibrated, Messages


class Engine(Protocol):
    """Where clients run. It carries messages; losses come in the order of the questions, uploads in any order, and of
    some clients perhaps none. `shared` goes down with the model. `collect` asks some of those who were told to hold
    their update; `settle` tells those who sent whether it was used."""

    @property
    def layout(self) -> Layout: ...
    def losses(self, weights: Weights, questions: Sequence[Question]) -> list[float]: ...
    def train(self, weights: Weights, orders: Sequence[Order], shared: Kept) -> list[Upload]: ...
    def collect(self, weights: Weights, clients: Sequence[int]) -> list[Upload]: ...
    def settle(self, used: Collection[int]) -> None: ...
    def calibrate(self, weights: Weights, request: Calibrate) -> dict[str, Tensor]: ...
    def evaluate(self, weights: Weights) -> float: ...


@dataclass
class Server:
    """All that the server carries from round to round: the model, what its parts noted, and what it knows of the
    clients."""

    weights: Weights
    population: Population
    state: Kept = field(default_factory=dict)
    notes: Kept = field(default_factory=dict)
    past: dict[str, Reals] = field(default_factory=lambda: {"norms": np.empty(0), "thetas": np.empty(0)})
    """Of each round so far: the mean length of an update, and θ_t."""
    round: int = 0
    """The round that all of this is after; −1 for the moment in which it changes."""

    def note(self, norm: float, theta: float) -> None:
        self.past = {"norms": np.append(self.past["norms"], norm), "thetas": np.append(self.past["thetas"], theta)}


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
    memory_norm: float | None
    score_parts: dict[str, float]
    events: list[Event]


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
    population, size, t = server.population, engine.layout.size, moment.round

    # observe and score (eqs 1 to 5)
    asked = method.score.asks(population, streams.numpy("questions", round=t))
    population.losses = observe(t, asked, server, method, engine)
    scores = method.score.score(population, moment)

    # select (eq. 6); whoever selects without knowing the links does not get to see them
    speeds = world.speeds(stress(t, server, method, engine, world), streams, t)
    means = Means(
        bandwidth=speeds.up,
        step_seconds=speeds.step_seconds,
        steps=method.train.steps,
        budget_seconds=world.budget_seconds,
        size=size,
        real_bits=None if world.clock.charge == "paper" else method.values.bits,
        data=population.sizes / population.sizes.sum(),
        norms=population.reported("norm"),
        past_norms=server.past["norms"],
        past_thetas=server.past["thetas"],
    )
    here = Situation(
        size=selected,
        moment=moment,
        rng=streams.numpy("selection", round=t),
        population=population.only(scores.ids),
        means=means.only(scores.ids) if "links" in method.needs else None,
        state=server.notes,
    )
    drawn = checked(method.select.select(scores.total, here), len(scores.total))
    cohort, score = replace(drawn, ids=scores.ids[drawn.ids]), scores.total[drawn.ids]
    ids = cohort.ids

    # allocate (eqs 7 and 8), and with it everything else a client is told (eqs 9 and 12)
    allocation = method.allocate.allocate(score, replace(means.only(ids), share=cohort.share), moment)
    beta = method.memory.beta(allocation.theta)
    rates, steps = method.rate.of_clients(moment, score), method.steps.of(method.train.steps, speeds.step_seconds[ids])
    cohort, hold = replace(cohort, steps=steps), method.choose is not None
    orders = [
        Order(int(k), t, rate, float(density), beta, int(count), allocation.warmup, hold)
        for k, rate, density, count in zip(ids, rates, allocation.densities, steps, strict=True)
    ]

    # train and compress (eqs 9 to 12), at the clients; then over the air, where things get lost
    shared = method.drift.shared(server.state)
    uploads = {upload.client: upload for upload in engine.train(server.weights, orders, shared)}
    densities = allocation.densities
    if method.choose is not None:
        rng = streams.numpy("choice", round=t)
        cohort, uploads = choose(cohort, uploads, population.sizes, method.choose, selected, rng)
        asked_for = np.isin(ids, list(uploads))
        uploads = {upload.client: upload for upload in engine.collect(server.weights, list(uploads))}
        densities = np.where(asked_for, densities, 0.0)
    speaking = (densities > 0).tolist()
    sent = Messages(
        size=size,
        model=server.weights.nbytes,
        asked=asked,
        selected=ids,
        densities=densities,
        payloads=[len(uploads[int(k)].payload) if int(k) in uploads else 0 for k in ids],
        shared=sum(array.nbytes for array in shared.values()),
        reports=len(ids) if hold else 0,
    )
    heard = listen(t, uploads, sent, speeds, steps, speaking, method, world, streams)

    # aggregate (eqs 13 and 14), in the order of the clients' numbers whatever the order drawn
    places = np.array([place for place, k in enumerate(ids) if int(k) in heard.updates], np.int64)
    places = places[np.argsort(ids[places])]
    weights = np.zeros(len(ids))
    weights[places] = method.weigh.of(score[places], cohort.only(places), population)
    model, state, aggregate = server.weights, server.state, None
    if len(places):
        aggregate = weighted_sum(size, [heard.updates[int(k)] for k in ids[places]], weights[places])
        turn = Turn(method.rate.eta(moment), method.train.steps, len(places), len(population))
        drift, more = method.drift.follow(state, aggregate, turn, method.train)
        state, step = method.server.step(state, aggregate)
        state = {**state, **drift}
        model = Weights(model.vector + torch.from_numpy(step if more is None else step + more), model.buffers)
    model, calibrated = recalibrate(t, model, population, method, engine, ids[np.sort(places)])
    sent = replace(heard.sent, calibrated=calibrated)

    # record
    kept = [upload.report["memory"] for upload in uploads.values() if "memory" in upload.report]
    record = Record(
        round=t,
        accuracy=engine.evaluate(model) if evaluate else None,
        loss_mean=float(population.losses.mean()) if np.isfinite(population.losses).all() else None,
        selected=ids.tolist(),
        scores=score.tolist(),
        densities=densities.tolist(),
        weights=weights.tolist(),
        bandwidth_mbps=(speeds.up[ids] / 1e6).tolist(),
        seconds=heard.seconds + world.clock.beside(sent, speeds, method.score.batches),
        bytes=sent.bytes(),
        tau=cohort.tau,
        theta=allocation.theta,
        beta=beta,
        learning_rate=method.rate.eta(moment),
        memory_norm=float(np.mean(kept)) if kept else None,
        score_parts={name: float(part.mean()) for name, part in scores.parts.items()},
        events=heard.events,
    )

    # move on, all at once: a round that is interrupted before here has not happened
    server.round = -1
    server.weights, server.state, server.notes = model, state, drawn.state
    population.selected(ids, t)
    lengths = [uploads[client].report.get("norm", np.nan) for client in heard.updates]
    server.note(float(np.mean(lengths)) if lengths else np.nan, allocation.theta)
    for client in heard.updates:
        population.reported_by(client, {**uploads[client].report, "seconds": heard.took[client]})
    if "uploads" in method.score.needs | method.needs:
        for client, update in heard.updates.items():
            population.received(client, signal(update, method, streams))
        if aggregate is not None:
            population.agree(signal(Update.whole(aggregate), method, streams).values, method.consensus_keep)
    engine.settle({int(ids[place]) for place in places if weights[place] > 0 or not method.keep_unweighted})
    server.round = t
    return record


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


def recalibrate(
    t: int, model: Weights, population: Population, method: Method, engine: Engine, ids: Counts
) -> tuple[Weights, list[Calibrated]]:
    """Measure batch-norm statistics for the new model at the first clients heard; who did how much of it."""
    done: list[Calibrated] = []
    if not model.has_statistics or len(ids) == 0:
        return model, done
    size = method.train.batch
    available = [-(-int(population.sizes[k]) // size) for k in ids]
    for client, batches in zip(ids, method.calibrate.plan(available), strict=False):
        if batches:
            buffers = engine.calibrate(model, Calibrate(int(client), t, batches, size))
            answer = sum(buffer.numel() * buffer.element_size() for buffer in buffers.values())
            done.append(Calibrated(int(client), batches, answer))
            model = Weights(model.vector, buffers)
    return model, done
