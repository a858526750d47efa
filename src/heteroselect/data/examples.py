"""Labelled examples as tensors: what every source gives and every partition deals out."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

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

    @cached_property
    def sha256(self) -> str:
        """Of inputs and targets, in their order; MNIST takes a twentieth of a second, and only once per process."""
        digest = hashlib.sha256()
        for tensor in (self.x, self.y):
            plain = tensor.contiguous()
            digest.update(f"{plain.dtype} {tuple(plain.shape)} ".encode())
            digest.update(plain.reshape(-1).view(torch.uint8).numpy().data)
        return digest.hexdigest()

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
    whole: Examples | None = None
    """Where the test part was held out by the seed: all examples, in an order that does not depend on it."""

    @property
    def sha256(self) -> str:
        """Of all examples and how they are read; the same for every seed."""
        parts = [self.whole] if self.whole is not None else [self.train, self.test]
        words = [*(part.sha256 for part in parts), self.classes, self.pixels]
        return hashlib.sha256(repr(words).encode()).hexdigest()
