"""Labelled examples as tensors: what every source gives and every partition deals out."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Examples:
    """Inputs and targets side by side, and whose they are where that is known. Images stay bytes (uint8) until a batch
    is made of them."""

    x: Tensor
    y: Tensor
    owner: Tensor | None = None
    """The number of each example's owner."""

    def __len__(self) -> int:
        return int(self.y.shape[0])

    @cached_property
    def sha256(self) -> str:
        """Of inputs and targets, in their order; MNIST takes a twentieth of a second, and only once per process."""
        digest = hashlib.sha256()
        for tensor in (self.x, self.y, *([] if self.owner is None else [self.owner])):
            plain = tensor.contiguous()
            digest.update(f"{plain.dtype} {tuple(plain.shape)} ".encode())
            digest.update(plain.reshape(-1).view(torch.uint8).numpy().data)
        return digest.hexdigest()

    def take(self, index: Tensor) -> "Examples":
        owner = None if self.owner is None else self.owner.index_select(0, index)
        return Examples(self.x.index_select(0, index), self.y.index_select(0, index), owner)

    @property
    def plain(self) -> "Examples":
        """The same, without their owners."""
        return self if self.owner is None else replace(self, owner=None)

    def of(self, owners: Ints) -> "Examples":
        """Those of some owners, who are numbered anew: by their place in `owners`."""
        assert self.owner is not None
        places = np.full(1 + max(int(self.owner.max()), int(owners.max())), -1)
        places[owners] = np.arange(len(owners))
        mine = torch.from_numpy(places)[self.owner]
        return replace(self, owner=mine).take(torch.nonzero(mine >= 0).flatten())


def joined(parts: Sequence[Examples]) -> Examples:
    """One after the other; with owners where all have them."""
    owners = [part.owner for part in parts if part.owner is not None]
    owner = torch.cat(owners) if len(owners) == len(parts) else None
    return Examples(torch.cat([p.x for p in parts]), torch.cat([p.y for p in parts]), owner)


def hold_out(whole: Examples, fraction: float, rng: np.random.Generator) -> tuple[Examples, Examples]:
    """The rest and a part that is held out, drawn at random; at least one example each, in the order they had. Where
    there are owners, each holds some out."""
    if whole.owner is not None:
        return _hold_out_of_each(whole, whole.owner.numpy(), fraction, rng)
    held = min(max(round(len(whole) * fraction), 1), len(whole) - 1)
    order = torch.from_numpy(rng.permutation(len(whole)))
    return whole.take(order[held:].sort().values), whole.take(order[:held].sort().values)


def _hold_out_of_each(
    whole: Examples, owner: Ints, fraction: float, rng: np.random.Generator
) -> tuple[Examples, Examples]:
    """The same of each owner's examples, at least one each; an owner of one example keeps it."""
    order = rng.permutation(len(whole))
    by_owner = order[np.argsort(owner[order], kind="stable")]
    sizes = np.bincount(owner)
    counts = np.where(sizes > 1, np.clip(np.rint(sizes * fraction), 1, np.maximum(sizes - 1, 1)), 0)
    rank = np.arange(len(whole)) - np.repeat(sizes.cumsum() - sizes, sizes)
    held = rank < np.repeat(counts, sizes)
    rest, part = (torch.from_numpy(np.sort(by_owner[chosen])) for chosen in (~held, held))
    return whole.take(rest), whole.take(part)


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
class Columns:
    """Which columns of a table hold the inputs, the labels and the owners, and whether these are needed (`natural`)."""

    input: str = ""
    label: str = "label"
    owner: str = "owner"
    natural: bool = False


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
    owners: tuple[str, ...] = ()
    """The names of those whose examples these are, by their numbers; nobody where it is not known."""

    @property
    def sha256(self) -> str:
        """Of all examples and how they are read; the same for every seed."""
        parts = [self.whole] if self.whole is not None else [self.train, self.test]
        words = [*(part.sha256 for part in parts), self.classes, self.pixels, *([self.owners] if self.owners else [])]
        return hashlib.sha256(repr(words).encode()).hexdigest()
