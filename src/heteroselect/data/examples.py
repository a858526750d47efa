"""Labelled examples as tensors: what every source gives and every partition deals out."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Examples:
    """Inputs and targets side by side. Images stay bytes (uint8) until a batch is made of them."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return int(self.y.shape[0])

    def take(self, index: Tensor) -> "Examples":
        return Examples(self.x.index_select(0, index), self.y.index_select(0, index))


def hold_out(whole: Examples, fraction: float, rng: np.random.Generator) -> tuple[Examples, Examples]:
    """The rest and a part that is held out, drawn at random; at least one example each, in the order they had."""
    held = min(max(round(len(whole) * fraction), 1), len(whole) - 1)
    order = torch.from_numpy(rng.permutation(len(whole)))
    return whole.take(order[held:].sort().values), whole.take(order[:held].sort().values)


@dataclass(frozen=True)
class Pixels:
    """How bytes become numbers: (byte / 255 - mean) / std a channel; `augment` allows crop and flip.

    Convolutions take half the time on numbers whose channels lie together (`channels_last`); a model that asks
    for another order in memory gets it.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    augment: bool
    channels_last: bool = True

    @staticmethod
    def of(x: Tensor) -> "Pixels | None":
        """Those of images of which nothing is known but their bytes; None where x are no bytes."""
        half = (0.5,) * x.shape[1] if x.dtype == torch.uint8 else ()
        return Pixels(half, half, augment=False) if half else None


@dataclass(frozen=True)
class Source:
    """A data set as published: a training part, a test part and how to read the inputs.

    `pixels` is None where the inputs are not images (they are then used as they are); `classes` is
    None where the targets are not class numbers. `counted` says that it was found by counting the labels of both parts.
    """

    name: str
    train: Examples
    test: Examples
    classes: int | None
    pixels: Pixels | None
    counted: bool = False
