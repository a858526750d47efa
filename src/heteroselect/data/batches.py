"""Batches: bytes become numbers here, and training images are cropped and flipped."""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from heteroselect.core.arrays import Counts
from heteroselect.data.examples import Examples, Pixels

PADDING = 4


def to_inputs(x: Tensor, pixels: Pixels | None, device: torch.device | str = "cpu") -> Tensor:
    """What a model is fed: normalised floats of images, anything else as it is."""
    if pixels is None:
        return x.to(device, copy=True)  # a model that works in place must not reach the data
    scale, shift = _normalisation(pixels, torch.device(device))
    order = torch.channels_last if pixels.channels_last and x.shape[1] > 1 else torch.contiguous_format
    return x.to(device=device, dtype=torch.float32, memory_format=order).mul_(scale).sub_(shift)


@cache
def _normalisation(pixels: Pixels, device: torch.device) -> tuple[Tensor, Tensor]:
    """(byte / 255 − mean) / std as one scale and one shift a channel."""
    scale = [1 / (255 * s) for s in pixels.std]
    shift = [m / s for m, s in zip(pixels.mean, pixels.std, strict=True)]
    shape = (1, len(pixels.mean), 1, 1)
    return torch.tensor(scale, device=device).view(shape), torch.tensor(shift, device=device).view(shape)


def augment(x: Tensor, rng: np.random.Generator) -> Tensor:
    """Random crop after padding with four black pixels, and a flip for every other image."""
    count, channels, height, width = x.shape
    padded = functional.pad(x, (PADDING,) * 4)
    top, left = rng.integers(0, 2 * PADDING + 1, (2, count))
    flip = rng.random(count) < 0.5
    columns = np.where(flip[:, None], np.arange(width)[::-1], np.arange(width)) + left[:, None]
    rows = torch.from_numpy(top[:, None] + np.arange(height))
    return padded[
        torch.arange(count).view(-1, 1, 1, 1),
        torch.arange(channels).view(1, -1, 1, 1),
        rows.view(count, 1, height, 1),
        torch.from_numpy(columns).view(count, 1, 1, width),
    ]


@dataclass(eq=False)
class Batches:
    """An endless stream of batches of one size: epoch after epoch, each in a new order.

    A batch may reach over the end of an epoch, so that all have the same shape.
    """

    examples: Examples
    size: int
    rng: np.random.Generator
    pixels: Pixels | None
    device: torch.device | str = "cpu"
    _queue: Counts = field(default_factory=lambda: np.empty(0, np.int64), init=False)

    def take(self, batches: int = 1) -> Examples:
        """The examples of the next batches, one after the other, as they are stored."""
        count = batches * self.size
        while len(self._queue) < count:
            self._queue = np.concatenate([self._queue, self.rng.permutation(len(self.examples))])
        index, self._queue = self._queue[:count], self._queue[count:]
        return self.examples.take(torch.from_numpy(index))

    def __call__(self) -> tuple[Tensor, Tensor]:
        batch = self.take()
        x = augment(batch.x, self.rng) if self.pixels is not None and self.pixels.augment else batch.x
        return to_inputs(x, self.pixels, self.device), batch.y.to(self.device)


class Ready:
    """Inputs that are needed round after round, kept as the model takes them while all of them fit in `budget` bytes.

    A model that works in place on its inputs is noticed, and gets new ones each time.
    """

    def __init__(self, pixels: Pixels | None, budget: int = 128_000_000) -> None:
        self.pixels, self.left = pixels, budget
        self._kept: dict[int, Tensor] = {}

    def through(self, module: nn.Module, key: int, x: Tensor, device: torch.device | str) -> Tensor:
        """What the module says of `x`, which is always the same for a key."""
        inputs = self._kept.get(key)
        if inputs is None:
            inputs = to_inputs(x, self.pixels, device)
        version = inputs._version
        out: Tensor = module(inputs)
        if inputs._version != version:
            self._kept.clear()
            self.left = 0
        elif key not in self._kept and self.left >= inputs.nbytes:
            self.left -= inputs.nbytes
            self._kept[key] = inputs
        return out
