"""Ideas that lost, kept so that they can be tried again.

Less noise by smaller singular values: the noise of an unbiased coder is white, and most of the energy of a mean update
is of low rank. So singular values of what came so far were shrunk as is best for white noise whose level the median
tells (Gavish, Donoho, "Optimal shrinkage of singular values", IEEE Trans. Information Theory 2017), and the round took
the change of that. The error of a round's mean became smaller, and learning slower: perhaps what lies below the noise
in single rounds takes accuracy further. For AlexNet only, whose shapes are written down here.

Centred gradients with a server that centres the mean, too: no client has sent anything along the sums of a unit's
weights, so that what is found there is the coder's noise, and nobody corrects it. To take it away changed nothing.

A correction of drift for clients that remember nothing: the server's momentum, which is the mean direction of the last
rounds, comes down with the model, and a client takes it in small parts beside its own steps instead of all of it before
the first one. So each of its gradients is taken where the others are about to be (the idea of Xu, Wang, Wang, Yao,
"FedCM: Federated learning with client-level momentum", 2021); what it sends is its own part alone.

    heteroselect run cifar10-lean --set method.server_optimizer.kind=studies/lost.py:Denoised
    heteroselect run cifar10-lean --set method.solver.centre=true \\
        --set method.server_optimizer.kind=studies/lost.py:Centred
    heteroselect run cifar10-lean --set method.solver.kind=studies/lost.py:Gradual
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from scipy.integrate import quad
from scipy.optimize import brentq

from heteroselect.core.messages import Order
from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.update import Update, Values
from heteroselect.parts.aggregate import LookAhead
from heteroselect.parts.train import SGD
from heteroselect.parts.train.solver import Job, ServerContext, Trainable, Trained

SHAPES = ((64, 27), (192, 576), (384, 1728), (256, 3456), (256, 2304), (512, 1024), (10, 512))
KEPT = ("total", "clean", "momentum")
SMALLEST = 16  # rows or columns: fewer singular values do not tell the level of the noise


@dataclass(frozen=True)
class Denoised:
    """E ← ρE + Δ̄, d = S(E) − ρ·S(E before), and then FedACG's M ← λM + d, w ← w + M. If S changed nothing, d would be
    Δ̄."""

    momentum: float = setting(0.8, "λ, as of look-ahead", ge=0, lt=1)
    keep: float = setting(0.97, "ρ: what is left each round of the sum that is denoised", ge=0, le=1)

    def step(self, state: PartState, aggregate: Values) -> tuple[PartState, Values]:
        keep, ahead = np.float32(self.keep), np.float32(self.momentum)
        before: dict[str, Values] = {name: state.get(name, np.zeros_like(aggregate)) for name in KEPT}
        total = keep * before["total"] + aggregate
        clean = denoised(total)
        change = clean - keep * before["clean"]
        momentum = ahead * before["momentum"] + change
        return {"total": total, "clean": clean, "momentum": momentum}, change + ahead * momentum

    def shown(self, state: PartState, model: Values) -> Values:
        momentum: Values = state.get("momentum", np.zeros_like(model))
        return model - np.float32(self.momentum) * momentum


@dataclass(frozen=True)
class Centred(LookAhead):
    """FedACG's server with a mean whose units are centred, for clients whose gradients are (`method.solver.centre`)."""

    kind = ""

    def step(self, state: PartState, aggregate: Values) -> tuple[PartState, Values]:
        mean = aggregate.copy()
        for start, rows, columns in layers():
            matrix = mean[start : start + rows * columns].reshape(rows, columns)
            matrix -= matrix.mean(1, keepdims=True)
        return super().step(state, mean)


@dataclass(frozen=True)
class Gradual(SGD):
    """SGD from w instead of z = w + λM, with λM/H added after each of H steps: y_H − z is the client's own part."""

    kind = ""

    ahead: float = setting(0.8, "λ, as of look-ahead", ge=0, lt=1)

    def run(self, model: Trainable, job: Job) -> Trained:
        momentum = job.shared.get("momentum")
        if momentum is None:  # nothing has been aggregated yet
            return super().run(model, job)
        ahead = torch.from_numpy(np.float32(self.ahead / job.steps) * momentum).to(model.vector.device)
        model.vector.sub_((job.steps + 1) * ahead)

        def batches() -> tuple[torch.Tensor, torch.Tensor]:
            model.vector.add_(ahead)  # a batch is asked for before each step
            return job.batches()

        trained = super().run(model, replace(job, batches=batches))
        model.vector.add_(ahead)
        return trained

    def shared(self, state: PartState) -> PartState:
        return dict(state)

    def update_state(self, state: PartState, shared: PartState, sent: Update, order: Order) -> PartState:
        return {}

    def follow(self, state: PartState, aggregate: Values, turn: ServerContext) -> tuple[PartState, Values | None]:
        """M ← λM + Δ̄, as the server's."""
        before = state.get("momentum", np.zeros_like(aggregate))
        return {"momentum": np.float32(self.ahead) * before + aggregate}, None


def layers() -> Iterator[tuple[int, int, int]]:
    """Where the weights of each layer begin, their units and the inputs of each; a bias per unit follows."""
    start = 0
    for rows, columns in SHAPES:
        yield start, rows, columns
        start += rows * columns + rows


def denoised(vector: Values) -> Values:
    """With each layer's weights shrunk; biases and the last layer stay as they are."""
    found = vector.copy()
    for start, rows, columns in layers():
        end = start + rows * columns
        if min(rows, columns) >= SMALLEST:
            matrix = vector[start:end].reshape(rows, columns)
            found[start:end] = (shrunk(matrix) if rows <= columns else shrunk(matrix.T).T).reshape(-1)
    return found


def shrunk(matrix: Values) -> Values:
    """σ·√n·η(y) in the place of each singular value σ·√n·y, η(y) = √((y² − β − 1)² − 4β)/y beyond 1 + √β, else 0, for m
    rows, n ≥ m columns and β = m/n; σ·√n is the median singular value over that of noise alone."""
    rows, columns = matrix.shape
    beta = rows / columns
    squares, left = np.linalg.eigh(matrix.astype(np.float64) @ matrix.T.astype(np.float64))
    level = np.median(squares) / _median(beta)
    if level <= 0:
        return matrix.copy()
    y = np.maximum(squares, 0) / level  # squared
    kept = np.where(y > (1 + beta**0.5) ** 2, np.sqrt(np.maximum((y - beta - 1) ** 2 - 4 * beta, 0)) / y, 0)
    smaller: Values = ((left * kept) @ (left.T @ matrix)).astype(np.float32)
    return smaller


@cache
def _median(beta: float) -> float:
    """Of the law of Marchenko and Pastur: of the squared singular values of noise."""
    low, high = (1 - beta**0.5) ** 2, (1 + beta**0.5) ** 2

    def below(x: float) -> float:
        density = lambda t: np.sqrt(max((high - t) * (t - low), 0)) / (2 * np.pi * beta * t)  # noqa: E731
        return float(quad(density, low, x)[0]) - 0.5

    return float(brentq(below, low + 1e-9, high - 1e-9))
