"""A data set dealt out to clients: by a rule, or each owner's examples together."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from heteroselect.core.streams import Streams
from heteroselect.data.examples import Examples, Ints, Pixels, Source, hold_out, joined
from heteroselect.data.partition import split
from heteroselect.errors import SettingError


@dataclass(frozen=True)
class Federation:
    """Every client's own examples, and those that the model is evaluated on: the test set, or examples that were set
    aside for validation."""

    name: str
    clients: list[Examples]
    test: Examples
    classes: int | None
    pixels: Pixels | None
    sha256: str = ""
    """Of the data set that was dealt out, where it was asked for."""
    owners: tuple[str, ...] = ()
    """Who the clients are, where each is one owner; then the `owner` of a test example is the number of its client."""
    unseen: Examples | None = None
    """Of owners that are no clients, where some were held out."""

    @property
    def newcomers(self) -> int:
        """How many owners there are that are no clients, and that the model is evaluated on."""
        return 0 if self.unseen is None or self.unseen.owner is None else int(self.unseen.owner.max()) + 1

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.test.x.shape[1:])


def deal(source: Source, clients: int, streams: Streams, *, augment: bool, **rule: Any) -> Federation:
    """Cut the training part of `source` into clients; `rule` is handed to `partition.split`.

    Each client gets a copy of its part, so that its batches come from one place in memory.
    """
    classes = source.classes if source.train.y.ndim == 1 else None  # rules go by one class per example
    shares = split(source.train.y.numpy(), clients, rng=streams.numpy("partition"), classes=classes, **rule)
    parts = [source.train.take(torch.from_numpy(share)).plain for share in shares]
    return Federation(source.name, parts, source.test.plain, source.classes, _read(source, augment))


def deal_by_owner(
    source: Source, clients: int | None, streams: Streams, *, augment: bool, least: int, unseen: float
) -> Federation:
    """One client per owner of `source`, as unequal as they are, or as many of them as are asked for (see `choose`)."""
    train, test = source.train, source.test
    if train.owner is None:
        raise SettingError(
            f"data.partition: nothing says whose the examples of {source.name} are; natural works with "
            'shakespeare, audiomnist, a file or hf:NAME with data.owner_column, and in Python data={"name": (x, y)}.'
        )
    sizes = np.bincount(train.owner.numpy(), minlength=len(source.owners))
    mine, new = choose(sizes, clients, streams, least=least, unseen=unseen)
    seen = train.of(mine)
    assert seen.owner is not None
    parts = [seen.take((seen.owner == k).nonzero().flatten()).plain for k in range(len(mine))]
    judged = test if test.owner is None else test.of(mine)
    if not len(judged):
        raise SettingError(
            "data.partition: none of the clients has a test example; hold out more, or choose more clients."
        )
    others = [part.of(new) for part in (train, test) if part.owner is not None and len(new)]
    return Federation(
        source.name,
        parts,
        judged,
        source.classes,
        _read(source, augment),
        owners=tuple(source.owners[k] for k in mine),
        unseen=joined(others) if others else None,
    )


def choose(sizes: Ints, clients: int | None, streams: Streams, *, least: int, unseen: float) -> tuple[Ints, Ints]:
    """The owners that become clients, and those that are held out as unseen, both rising.

    Owners of fewer than `least` examples are neither. The unseen are drawn first, so that they are the same whatever
    the number of clients; None takes everybody who is left.
    """
    enough = np.flatnonzero(sizes >= least)
    if not len(enough):
        raise SettingError(
            f"data.owner_min_examples: no owner has {least} examples for training; choose at most {sizes.max()}."
        )
    if unseen and len(enough) < 2:
        raise SettingError("data.unseen_fraction: there is only one owner; set it to 0.")
    held = min(max(round(unseen * len(enough)), 1), len(enough) - 1) if unseen else 0
    new = np.sort(streams.numpy("unseen owners").permutation(enough)[:held])
    rest = np.setdiff1d(enough, new)
    count = len(rest) if clients is None else clients
    if count > len(rest):
        left = f" and are not held out ({held} are)" if held else ""
        raise SettingError(
            f"clients: choose at most {len(rest)}, the owners that have {least} or more examples for training"
            f"{left}, not {count}."
        )
    return np.sort(streams.numpy("owners").permutation(rest)[:count]), new


def _read(source: Source, augment: bool) -> Pixels | None:
    return source.pixels if augment or source.pixels is None else replace(source.pixels, augment=False)


def set_aside(source: Source, fraction: float, evaluate: str, streams: Streams) -> Source:
    """Without the training examples that are for validation, which take the place of the test part where `evaluate` is
    "validation". Then nothing of the test part is left, not even the number of its classes."""
    if not fraction:
        return source
    if len(source.train) < 2:
        raise SettingError("data.validation_fraction: of one example none can be set aside; set it to 0.")
    rest, held = hold_out(source.train, fraction, streams.numpy("validation examples"))
    if not len(held):
        raise SettingError("data.validation_fraction: no owner has two examples; set it to 0.")
    if evaluate == "test":
        return replace(source, train=rest)
    classes = int(source.train.y.max()) + 1 if source.counted and source.classes else source.classes
    return replace(source, train=rest, test=held, classes=classes)
