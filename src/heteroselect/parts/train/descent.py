"""The local loop that solvers share: SGD with momentum, a proximal pull, a clip, and a shift and a centring of every
gradient.

A solver with another gradient hands `descend` a Trainable whose `backward` computes it (see fedsol.py). Solvers import
this module when they run: it needs torch.
"""

import inspect
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from heteroselect.core.update import Values
from heteroselect.parts.train.solver import Job, Trainable, Trained

if TYPE_CHECKING:
    from heteroselect.core.flat import Loss


def descend(
    model: Trainable,
    job: Job,
    *,
    momentum: float = 0.0,
    proximal: float = 0.0,
    clip: float = 0.0,
    decay: float = 0.0,
    shift: Sequence[Values] | None = None,
    centre: bool = False,
) -> Trained:
    """Trains `model` in place, and returns what the batches' losses were. `shift` (one vector per row) is added to
    every gradient before the pull and the clip, and `centre` takes from every gradient what `centred` says; the
    momentum is fresh each time."""
    anchor = model.vector.clone()
    velocity = torch.zeros_like(anchor)
    added = None if shift is None else torch.from_numpy(np.stack(shift)).view_as(anchor).to(anchor.device)
    rates = [job.rates[0]] if len(set(job.rates)) == 1 else list(job.rates)
    total = squares = torch.zeros((), device=anchor.device)
    each = partial(_singly, per_example(job.loss)) if job.examples else None
    sums = (torch.zeros_like(anchor), torch.zeros_like(anchor)) if job.noise else None
    matrices, apply = weights_of(model) if centre else [], fused()
    model.module.train()
    for _ in range(job.steps):
        x, y = job.batches()
        value = model.backward(job.loss, x, y)
        with torch.no_grad():
            single = each(model, y) if each else value
            total, squares = total + value, squares + single * single
            centred(matrices)
            if sums is not None:
                sums[0].add_(model.gradient)
                sums[1].add_(model.gradient * model.gradient)
            if added is not None:
                model.gradient.add_(added)
            apply(model.vector, model.gradient, anchor, velocity, rates, proximal, clip, momentum, decay)
    if each:  # of examples that are as many in each row; row by row, so that a matrix gives the bits of single models
        squares = torch.stack([row.mean() for row in squares]) if anchor.dim() > 1 else squares.mean()
    noise = None if sums is None else noise_of(*sums, job.steps)
    return Trained(total / job.steps, (squares / job.steps).sqrt(), noise)


def weights_of(model: Trainable) -> list[Tensor]:
    """The gradients of all parameters of two or more dimensions with more than one value per unit, of each row where
    there are rows: views, as matrices with one row per unit, which is the first dimension."""
    found, end = [], 0
    for parameter in model.module.parameters():
        if parameter.requires_grad:
            start, end = end, end + parameter.numel()
            if parameter.dim() > 1 and parameter.numel() > len(parameter):  # a single value is its own mean
                rows = model.gradient.view(-1, model.gradient.shape[-1])[:, start:end]
                found += [row.view(len(parameter), -1) for row in rows]
    return found


def centred(gradients: list[Tensor]) -> None:
    """G ← G − mean of each of its rows, in place. What enters a unit after ReLUs is not negative: along the mean
    of its inputs the loss is far steeper than across it, and that one direction bounds the rate of all others."""
    for gradient in gradients:
        gradient.sub_(gradient.mean(1, True))


def noise_of(total: Tensor, squares: Tensor, steps: int) -> Tensor:
    """(Σ‖g‖²/H − ‖ḡ‖²)/‖ḡ‖² of the gradients of H batches, whose coordinates and their squares were summed; of each row
    where there are rows, and 0 where the mean gradient is. torch's own sum may depend on its thread count."""
    mean = (total / steps).cpu().numpy().astype(np.float64)
    spread = np.maximum((squares / steps).cpu().numpy() - mean**2, 0.0)
    rows = zip(np.atleast_2d(spread), np.atleast_2d(mean * mean), strict=True)
    parts = [(float(above.sum()), float(below.sum())) for above, below in rows]
    found = torch.tensor([above / below if below > 0 else 0.0 for above, below in parts], dtype=torch.float64)
    return found if total.dim() > 1 else found[0]


def per_example(loss: "Loss") -> "Loss":
    """The same loss, of each example of a batch: those of torch say so themselves (`reduction`), of any other function
    they are its values on batches of one."""
    if "reduction" in inspect.signature(loss).parameters:
        single: Callable[..., Tensor] = loss
        return partial(single, reduction="none")
    return lambda outputs, y: torch.stack([loss(outputs[[i]], y[[i]]) for i in range(len(y))])


def _singly(loss: "Loss", model: Trainable, y: Tensor) -> Tensor:
    """The loss of each example of the last batch, in rows where there are rows."""

    def one(outputs: Tensor, targets: Tensor) -> Tensor:
        values = loss(outputs, targets)
        return values.flatten(1).mean(1) if values.dim() > 1 else values

    if model.vector.dim() == 1:
        return one(model.outputs, y)
    return torch.stack([one(outputs, targets) for outputs, targets in zip(model.outputs, y, strict=True)])


def step(
    w: Tensor,
    gradient: Tensor,
    anchor: Tensor,
    velocity: Tensor,
    rates: list[float],
    proximal: float,
    clip: float,
    momentum: float,
    decay: float = 0.0,
) -> None:
    """g ← clip(g + μ(w − w₀) + νw); u ← ρu + g; w ← w − ηu. All in place, row by row where there are rows; `rates` has
    one rate, or one per row."""
    if proximal != 0.0:
        gradient.add_(w - anchor, alpha=proximal)
    if decay != 0.0:
        gradient.add_(w, alpha=decay)
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


COMPILING = threading.Lock()
"""Held by whoever silences warnings for a moment: the filters are those of the whole process, and two threads that each
put back what they found would leave it silent for good."""


def fused() -> Callable[..., None]:
    """The operators of `step` in one call: two workers that took turns with Python's lock for each of them would be
    slower together than one alone. Where torch cannot do that any more, `step` itself."""
    with COMPILING:
        return _scripted()


@cache
def _scripted() -> Callable[..., None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecated
            scripted: Callable[..., None] = torch.jit.script(step)
    except (AttributeError, RuntimeError, OSError):
        return step
    return scripted
