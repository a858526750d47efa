"""How good is the model? The default metric, and what single clients would see of it."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

Metric = Callable[[Tensor, Tensor], float]
"""(outputs, targets) of the whole test set to one number, the higher the better."""


def accuracy(outputs: Tensor, targets: Tensor) -> float:
    """The fraction of examples whose largest output is their class."""
    return int((outputs.argmax(1) == targets).sum()) / len(targets)


def client_accuracies(outputs: Tensor, targets: Tensor, labels: Sequence[Tensor], classes: int) -> list[float] | None:
    """Each client's accuracy on test data of its own label mix: Σ_c (its share of class c)·(accuracy on c).

    Classes without a test example are left out; None where the outputs are not one number per class.
    """
    if outputs.ndim != 2 or outputs.shape[1] != classes:
        return None
    right = (outputs.argmax(1) == targets).double()
    total = torch.bincount(targets, minlength=classes).double()
    hits = torch.bincount(targets, weights=right, minlength=classes)
    known = total > 0
    by_class = torch.where(known, hits / total.clamp(min=1), 0.0)
    accuracies = []
    for mine in labels:
        mix = torch.bincount(mine, minlength=classes).double() * known
        if mix.sum() > 0:
            accuracies.append(float((mix * by_class).sum() / mix.sum()))
    return accuracies


def worst_tenth(values: Sequence[float]) -> float:
    """The mean of the lowest tenth, of one client at least."""
    ranked = np.sort(np.asarray(values))
    return float(ranked[: max(1, len(ranked) // 10)].mean())
