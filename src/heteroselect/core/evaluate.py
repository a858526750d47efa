"""How good is the model? The default metric, and what single clients would see of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from heteroselect.core.measure import Measure
from heteroselect.errors import HeteroSelectError

Function = Callable[[Tensor, Tensor], float]
"""(outputs, targets) of the whole test set to one number."""


MOST = 1000  # classes whose accuracies are noted, as a line of text can hold


def accuracy(outputs: Tensor, targets: Tensor) -> float:
    """The fraction of targets whose largest output is their class; an example may have one target or several."""
    return int((outputs.argmax(1) == targets).sum()) / targets.numel()


@dataclass(frozen=True)
class Metric:
    """A function with what people need to read its number; with the unit % it is a fraction, written as a
    percentage."""

    function: Function
    name: str = "accuracy"
    higher: bool = True
    unit: str = "%"

    def __post_init__(self) -> None:
        kinds = {"name": str, "higher": bool, "unit": str}
        wrong = [name for name, kind in kinds.items() if not isinstance(getattr(self, name), kind)]
        if wrong or not callable(self.function) or not self.name:
            raise HeteroSelectError(
                "metric: allowed is a function of (outputs, targets), or Metric(function, name, higher, unit) with a "
                "name that is a text, higher that is true or false, and a unit that is a text."
            )

    @staticmethod
    def of(given: Any) -> "Metric":
        """A metric as it was handed over: nothing is the accuracy, a function goes by its own name, without a unit."""
        if given is None or given is accuracy:
            return Metric(accuracy)
        if isinstance(given, Metric):
            return given
        name = str(getattr(given, "__name__", type(given).__name__))
        return Metric(given, name="metric" if name == "<lambda>" else name, unit="")

    @property
    def measure(self) -> Measure:
        return Measure(self.name, self.higher, self.unit)


def class_accuracies(outputs: Tensor, targets: Tensor, classes: int | None) -> list[float | None] | None:
    """The accuracy on each class, to four digits, None for a class without a test example; None where targets are no
    classes, where there are more than `MOST`, or where there are fewer outputs than classes."""
    found = None if classes is None or classes > MOST else _by_class(outputs, targets, classes)
    if found is None:
        return None
    pairs = zip(*(part.tolist() for part in found), strict=True)
    return [round(value, 4) if known else None for value, known in pairs]


def _by_class(outputs: Tensor, targets: Tensor, classes: int) -> tuple[Tensor, Tensor] | None:
    """The accuracy on each class, and which classes have a test example; the others have 0."""
    if outputs.ndim != 1 + targets.ndim or outputs.shape[1] < classes:
        return None
    right, targets = (outputs.argmax(1) == targets).double().flatten(), targets.flatten()
    total = torch.bincount(targets, minlength=classes).double()
    hits = torch.bincount(targets, weights=right, minlength=classes)
    known = total > 0
    return torch.where(known, hits / total.clamp(min=1), 0.0), known


def client_accuracies(
    outputs: Tensor, targets: Tensor, labels: Sequence[Tensor], classes: int
) -> list[float | None] | None:
    """Each client's accuracy on test data of its own label mix: Σ_c (its share of class c)·(accuracy on c), None for a
    client whose classes have no test example; None alone where the outputs are not one number per class."""
    found = _by_class(outputs, targets, classes)
    if found is None:
        return None
    by_class, known = found
    mixes = [torch.bincount(mine.flatten(), minlength=classes).double() * known for mine in labels]
    return [float((mix * by_class).sum() / mix.sum()) if mix.sum() > 0 else None for mix in mixes]


def owner_accuracies(outputs: Tensor, targets: Tensor, owner: Tensor, clients: int) -> list[float | None] | None:
    """Each client's accuracy on its own test examples (`owner` has the client of each), None for a client without one;
    None alone where the outputs are not one number per class."""
    if outputs.ndim != 1 + targets.ndim:
        return None
    right = (outputs.argmax(1) == targets).double().view(len(targets), -1).mean(1)
    total = torch.bincount(owner, minlength=clients).tolist()
    hits = torch.bincount(owner, weights=right, minlength=clients).tolist()
    return [hit / count if count else None for hit, count in zip(hits, total, strict=True)]


def jain(values: Sequence[float]) -> float | None:
    """Jain's index of fairness, (Σx)²/(n·Σx²): 1 where all have the same, 1/n where one has everything; None where
    nobody has anything (Jain, Chiu, Hawe, "A quantitative measure of fairness", DEC-TR-301, 1984).

    >>> jain([3, 3, 3, 3]), jain([5, 0, 0, 0]), jain([1, 2, 3])
    (1.0, 0.25, 0.8571428571428571)
    """
    squares = float(np.square(np.asarray(values, np.float64)).sum())
    return float(np.sum(values)) ** 2 / (len(values) * squares) if squares else None


def worst_tenth(values: Sequence[float]) -> float:
    """The mean of the lowest tenth, of one client at least."""
    ranked = np.sort(np.asarray(values))
    return float(ranked[: max(1, len(ranked) // 10)].mean())
