"""Local training: SGD with momentum and a proximal pull to the global model.

Li et al., "Federated optimization in heterogeneous networks" (FedProx), MLSys 2020. μ = 0 is FedAvg's SGD.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import torch
from torch import Tensor, nn

from heteroselect.flat import Loss

Batch = tuple[Tensor, Tensor]


class Trainable(Protocol):
    """A flat model, or a matrix with one in each row."""

    module: nn.Module
    vector: Tensor
    gradient: Tensor

    def backward(self, loss: Loss, x: Tensor, y: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class Trained:
    """The mean of the batches' losses, and the root of their mean square; of each row where there are rows."""

    loss: Tensor
    rms: Tensor

    def report(self, row: int | None = None) -> dict[str, float]:
        return {name: float(value if row is None else value[row]) for name, value in vars(self).items()}


@dataclass(frozen=True)
class FedProx:
    """H steps; the momentum is fresh each round, and the clip acts on task plus proximal gradient."""

    steps: int = 50
    batch: int = 32
    momentum: float = 0.9
    proximal: float = 0.1
    clip: float = 2.0

    def run(
        self,
        model: Trainable,
        loss: Loss,
        batches: Callable[[], Batch],
        rates: Sequence[float],
        steps: int | None = None,
        shift: Tensor | None = None,
    ) -> "Trained":
        """Train `model` in place, a rate for each row; what the batches' losses were. A `shift` is added to every
        gradient (SCAFFOLD, FedDyn)."""
        count = self.steps if steps is None else steps
        anchor = model.vector.clone()
        velocity = torch.zeros_like(anchor)
        total = squares = torch.zeros((), device=anchor.device)
        model.module.train()
        for _ in range(count):
            x, y = batches()
            value = model.backward(loss, x, y)
            total, squares = total + value, squares + value * value
            with torch.no_grad():
                if shift is not None:
                    model.gradient.add_(shift)
                self.step(model.vector, model.gradient, anchor, velocity, rates)
        return Trained(total / count, (squares / count).sqrt())

    def step(self, w: Tensor, gradient: Tensor, anchor: Tensor, velocity: Tensor, rates: Sequence[float]) -> None:
        """g ← clip(g + μ(w − w₀)); u ← ρu + g; w ← w − ηu. All in place, row by row where there are rows."""
        shared = [rates[0]] if len(set(rates)) == 1 else list(rates)
        _fused()(w, gradient, anchor, velocity, shared, self.proximal, self.clip, self.momentum)


def step(
    w: Tensor,
    gradient: Tensor,
    anchor: Tensor,
    velocity: Tensor,
    rates: list[float],
    proximal: float,
    clip: float,
    momentum: float,
) -> None:
    """One rate, or one for each row."""
    if proximal != 0.0:
        gradient.add_(w - anchor, alpha=proximal)
    if clip != 0.0:
        norm = torch.linalg.vector_norm(gradient, 2.0, [-1], True)
        # torch's own clip_grad_norm_ adds the same 1e-6
        gradient.mul_((clip / (norm + 1e-6)).clamp_(max=1.0))
    velocity.mul_(momentum).add_(gradient)
    if len(rates) == 1:
        w.sub_(velocity, alpha=rates[0])
    else:
        for row, rate in enumerate(rates):
            w[row].sub_(velocity[row], alpha=rate)


@cache
def _fused() -> Callable[..., None]:
    """The same operators in one call: two workers that took turns with Python's lock for each of them would be slower
    together than one alone. Where torch cannot do that any more, the function as it stands."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecated
            fused: Callable[..., None] = torch.jit.script(step)
    except (AttributeError, RuntimeError, OSError):
        return step
    return fused
