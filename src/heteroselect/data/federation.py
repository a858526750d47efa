"""A data set dealt out to clients: from a published source, from arrays, or as the user already holds it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from heteroselect.core.streams import Streams
from heteroselect.data.examples import Examples, Pixels, Source, hold_out, hold_out_of_each, joined
from heteroselect.data.owners import by_owner
from heteroselect.data.partition import split
from heteroselect.errors import DataError, SettingError


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
    """One client per owner of `source`, or as many of them as are asked for (see `owners.by_owner`)."""
    found = by_owner(source, clients, streams, least=least, unseen=unseen)
    return Federation(
        source.name,
        found.clients,
        found.test,
        source.classes,
        _read(source, augment),
        owners=found.names,
        unseen=found.unseen,
    )


def _read(source: Source, augment: bool) -> Pixels | None:
    return source.pixels if augment or source.pixels is None else replace(source.pixels, augment=False)


def set_aside(source: Source, fraction: float, evaluate: str, streams: Streams) -> Source:
    """Without the training examples that are for validation, which take the place of the test part where `evaluate` is
    "validation". Then nothing of the test part is left, not even the number of its classes."""
    if not fraction:
        return source
    if len(source.train) < 2:
        raise SettingError("data.validation_fraction: of one example none can be set aside; set it to 0.")
    out = hold_out if source.train.owner is None else hold_out_of_each
    rest, held = out(source.train, fraction, streams.numpy("validation examples"))
    if not len(held):
        raise SettingError("data.validation_fraction: no owner has two examples; set it to 0.")
    if evaluate == "test":
        return replace(source, train=rest)
    classes = int(source.train.y.max()) + 1 if source.counted and source.classes else source.classes
    return replace(source, train=rest, test=held, classes=classes)


def set_aside_each(data: Sequence[Any], fraction: float, streams: Streams) -> tuple[list[Examples], Examples]:
    """The same of a list of per-client data sets: what each client keeps, and what all set aside together. Each client
    of two examples or more sets one aside at least."""
    parts = [examples(part, f"data[{k}]") for k, part in enumerate(data)]
    for k, part in enumerate(parts):
        _same_kind(parts[0], part, f"data[{k}]")
    draws = [streams.numpy("validation examples", client=k) for k in range(len(parts))]
    pairs = [hold_out(part, fraction, rng) for part, rng in zip(parts, draws, strict=True)]
    held = joined([held for _, held in pairs])
    if not len(held):
        raise SettingError("data.validation_fraction: no client has two examples; set it to 0.")
    return [rest for rest, _ in pairs], held


def own_source(data: Any, test: Any, fraction: float, streams: Streams) -> Source:
    """Arrays (x, y), or (x, y, x_test, y_test), or {owner: (x, y)}, as a source. Without a test part some are held
    out."""
    if isinstance(data, Source):
        return data
    if isinstance(data, Mapping):
        return _owned_source(data, test, fraction, streams)
    if not isinstance(data, tuple) or len(data) not in (2, 4):
        raise DataError(
            "data: hand over (x, y), (x, y, x_test, y_test), a list with one data set a client, a mapping with one "
            "data set an owner, or a Source."
        )
    train = examples(data[:2], "data")
    held = test if test is not None else data[2:] or None
    if held is not None:
        parts = train, examples(held, "test")
        _same_kind(*parts, "test")
        return _source(*parts)
    if len(train) < 2:
        raise DataError("data: one example cannot be held out for testing and trained on; two are needed.")
    return replace(_source(*hold_out(train, fraction, streams.numpy("held-out test examples"))), whole=train)


def _owned_source(data: Mapping[Any, Any], test: Any, fraction: float, streams: Streams) -> Source:
    """One data set per owner. A test part may be a mapping, too; without one each owner holds some examples out."""
    names = {str(name): number for number, name in enumerate(data)}
    if len(names) < len(data):
        raise DataError("data: two owners have the same name; give each one of its own.")
    whole = _owned(data, names, "data")
    if test is None:
        train, held = hold_out_of_each(whole, fraction, streams.numpy("held-out test examples"))
        if not len(held):
            raise DataError("test: no owner has two examples, so that one could be held out; hand over a test set.")
        return replace(_source(train, held), whole=whole, owners=tuple(names))
    by_name = isinstance(test, Mapping) and not {"x", "y"} <= set(test)
    judged = _owned(test, names, "test") if by_name else examples(test, "test")
    _same_kind(whole, judged, "test")
    return replace(_source(whole, judged), owners=tuple(names))


def _owned(data: Mapping[Any, Any], names: Mapping[str, int], title: str) -> Examples:
    """The examples of all owners, one owner after the other."""
    if not data:
        raise DataError(f"{title}: a mapping must have one data set or more.")
    if strangers := [name for name in data if str(name) not in names]:
        raise DataError(f"{title}: {strangers[0]!r} has no data to train on; name the owners that are in data.")
    parts = {str(name): examples(part, f"{title}[{name!r}]") for name, part in data.items()}
    first = next(iter(parts.values()))
    for name, part in parts.items():
        _same_kind(first, part, f"{title}[{name!r}]")
    return joined([replace(part, owner=torch.full((len(part),), names[name])) for name, part in parts.items()])


def own_federation(data: Sequence[Any], test: Any) -> Federation:
    """A list of per-client data sets, as the user holds them."""
    if test is None:
        raise DataError("test: a list of per-client data sets needs a test set, test=(x, y).")
    if not data:
        raise DataError("data: a list of per-client data sets must have one or more.")
    parts = [examples(part, f"data[{k}]") for k, part in enumerate(data)]
    held = examples(test, "test")
    for name, part in [(f"data[{k}]", part) for k, part in enumerate(parts)] + [("test", held)]:
        _same_kind(parts[0], part, name)
    source = _source(joined(parts), held)
    return Federation("own", parts, source.test, source.classes, source.pixels)


def examples(data: Any, name: str) -> Examples:
    """(x, y) of arrays or tensors, a mapping with x and y, or anything like a torch Dataset of pairs."""
    wanted = f"{name}: hand over (x, y), a mapping with x and y, or a data set of (x, y) pairs, all of numbers"
    try:
        found = _examples(data)
    except (TypeError, ValueError, RuntimeError, LookupError) as error:  # of numpy, torch or the data set itself
        raise DataError(f"{wanted} ({error}).") from error
    if found is None:
        raise DataError(f"{wanted}.")
    if len(found.x) != len(found.y) or len(found) == 0:
        raise DataError(
            f"{name}: x and y must be of the same length, one or more, not {len(found.x)} and {len(found.y)}."
        )
    for part, values in (("x", found.x), ("y", found.y)):
        if values.is_floating_point() and not bool(values.isfinite().all()):
            raise DataError(f"{name}: {part} holds a value that is not finite; replace it by a number.")
    return found


def _examples(data: Any) -> Examples | None:
    if isinstance(data, Examples):
        return data
    if isinstance(data, Mapping):
        return _pair(data["x"], data["y"]) if {"x", "y"} <= set(data) else None
    if isinstance(data, tuple):
        return _pair(*data) if len(data) == 2 else None
    if not hasattr(data, "__getitem__") or not hasattr(data, "__len__") or len(data) == 0:
        return None
    pairs = [data[i] for i in range(len(data))]
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        return None
    return _pair(torch.stack([_tensor(x) for x, _ in pairs]), torch.stack([_tensor(y) for _, y in pairs]))


def _pair(x: Any, y: Any) -> Examples | None:
    inputs, targets = _inputs(x), _targets(y)
    return Examples(inputs, targets) if inputs.ndim and targets.ndim else None


def _same_kind(first: Examples, other: Examples, name: str) -> None:
    """Clients and test set must fit one model."""
    for field in ("x", "y"):
        a, b = getattr(first, field), getattr(other, field)
        if a.shape[1:] != b.shape[1:] or a.dtype != b.dtype:
            raise DataError(
                f"{name}: its {field} ({b.dtype}, shape {tuple(b.shape[1:])} each) must be like that of the "
                f"training data ({a.dtype}, shape {tuple(a.shape[1:])})."
            )


def _tensor(values: Any) -> Tensor:
    return values if isinstance(values, Tensor) else torch.as_tensor(np.asarray(values))


def _inputs(values: Any) -> Tensor:
    """Images (n, channels, height, width) stay bytes, other numbers become float32, and whole ones stay whole."""
    x = _tensor(values)
    if x.dtype == torch.uint8:
        return x if x.ndim == 4 else x.float()
    return x.float() if x.is_floating_point() else x.long()


def _targets(values: Any) -> Tensor:
    y = _tensor(values)
    return y.float() if y.is_floating_point() else y.long()


def _source(train: Examples, test: Examples) -> Source:
    labelled = not train.y.is_floating_point() and train.y.ndim == 1
    if labelled and int(min(train.y.min(), test.y.min())) < 0:
        raise DataError("data: class numbers in y must be 0 or more.")
    classes = int(max(train.y.max(), test.y.max())) + 1 if labelled else None
    return Source("own", train, test, classes, Pixels.of(train.x), counted=True)
