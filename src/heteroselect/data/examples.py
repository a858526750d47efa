"""Labelled examples as tensors: what every source gives and every partition deals out."""

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Pixels:
    """How bytes become numbers: (byte / 255 - mean) / std a channel; `augment` allows crop and flip."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    augment: bool


@dataclass(frozen=True)
class Source:
    """A data set as published: a training part, a test part and how to read the inputs.

    `pixels` is None where the inputs are not images (they are then used as they are); `classes` is
    None where the targets are not class numbers.
    """

    name: str
    train: Examples
    test: Examples
    classes: int | None
    pixels: Pixels | None
