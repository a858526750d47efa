"""Local training: SGD with momentum and a proximal pull to the global model.

Li et al., "Federated optimization in heterogeneous networks" (FedProx), MLSys 2020. μ = 0 is FedAvg's SGD.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from heteroselect.flat import FlatModel, Loss

Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class FedProx:
    """H steps; the momentum is fresh each round, and the clip acts on task plus proximal gradient."""

    steps: int = 50
    batch: int = 32
    momentum: float = 0.9
    proximal: float = 0.1
    clip: float = 2.0

    def run(self, model: FlatModel, loss: Loss, batches: Callable[[], Batch], rate: float) -> float:
        """Train `model` in place; give the mean loss of the batches seen."""
        anchor = model.vector.clone()
        velocity = torch.zeros_like(anchor)
        total = 0.0
        model.module.train()
        for _ in range(self.steps):
            x, y = batches()
            total += model.backward(loss, x, y)
            with torch.no_grad():
                self.step(model.vector, model.gradient, anchor, velocity, rate)
        return total / self.steps

    def step(self, w: Tensor, gradient: Tensor, anchor: Tensor, velocity: Tensor, rate: float) -> None:
        """g ← clip(g + μ(w − w₀)); u ← ρu + g; w ← w − ηu. All in place."""
        if self.proximal:
            gradient.add_(w, alpha=self.proximal).sub_(anchor, alpha=self.proximal)
        if self.clip:
            # torch's own clip_grad_norm_ adds the same 1e-6
            gradient.mul_((self.clip / (gradient.norm() + 1e-6)).clamp(max=1.0))
        velocity.mul_(self.momentum).add_(gradient)
        w.sub_(velocity, alpha=rate)
