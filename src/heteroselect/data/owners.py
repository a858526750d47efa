"""Clients that are people, roles or devices, whose examples stay together: who becomes a client, who is held out."""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.streams import Streams
from heteroselect.data.examples import Examples, Ints, Source, joined
from heteroselect.errors import SettingError


@dataclass(frozen=True)
class Owned:
    """One client per chosen owner: what they train on, the test examples with the number of their client, the examples
    of owners that no client has seen, and the clients' names."""

    clients: list[Examples]
    test: Examples
    unseen: Examples | None
    names: tuple[str, ...]


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


def by_owner(source: Source, clients: int | None, streams: Streams, *, least: int, unseen: float) -> Owned:
    """Keep each owner's examples together: one client per owner, as unequal as they are."""
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
    names = tuple(source.owners[k] for k in mine)
    return Owned(parts, judged, joined(others) if others else None, names)
