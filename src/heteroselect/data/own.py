"""Data of a user's own: as it is handed over in Python, and what is checked and held out wherever it comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from heteroselect.core.streams import Streams
from heteroselect.data.examples import Examples, Pixels, Source, hold_out, joined
from heteroselect.data.federation import Federation
from heteroselect.errors import DataError, SettingError


def own_source(data: Any, test: Any, fraction: float, streams: Streams) -> Source:
    """Arrays (x, y), or (x, y, x_test, y_test), or {owner: (x, y)}, as a source. Without a test part some are held
    out."""
    if isinstance(data, Source):
        return data
    names: dict[str, int] = {}
    if isinstance(data, Mapping):
        names = {str(name): number for number, name in enumerate(data)}
        if len(names) < len(data):
            raise DataError("data: two owners have the same name; give each one of its own.")
        train = _owned(data, names, "data")
    elif isinstance(data, tuple) and len(data) in (2, 4):
        train = examples(data[:2], "data")
        test = test if test is not None else data[2:] or None
    else:
        raise DataError(
            "data: hand over (x, y), (x, y, x_test, y_test), a list with one data set a client, a mapping with one "
            "data set an owner, or a Source."
        )
    if test is None:
        return source_of("own", train, None, tuple(names), "data", fraction, streams)
    by_name = names and isinstance(test, Mapping) and not {"x", "y"} <= set(test)
    held = _owned(test, names, "test") if by_name else examples(test, "test")
    same_kind(train, held, "test")
    return source_of("own", train, held, tuple(names), "data", fraction, streams)


def own_federation(data: Sequence[Any], test: Any) -> Federation:
    """A list of per-client data sets, as the user holds them."""
    if test is None:
        raise DataError("test: a list of per-client data sets needs a test set, test=(x, y).")
    if not data:
        raise DataError("data: a list of per-client data sets must have one or more.")
    parts, held = _each(data), examples(test, "test")
    same_kind(parts[0], held, "test")
    classes = _classes(torch.cat([part.y for part in parts]), held.y, "data")
    return Federation("own", parts, held, classes, Pixels.of(held.x))


def set_aside_each(data: Sequence[Any], fraction: float, streams: Streams) -> tuple[list[Examples], Examples]:
    """What each client of a list of per-client data sets keeps, and what all set aside for validation together. Each
    client of two examples or more sets one aside at least."""
    parts = _each(data)
    draws = [streams.numpy("validation examples", client=k) for k in range(len(parts))]
    pairs = [hold_out(part, fraction, rng) for part, rng in zip(parts, draws, strict=True)]
    held = joined([held for _, held in pairs])
    if not len(held):
        raise SettingError("data.validation_fraction: no client has two examples; set it to 0.")
    return [rest for rest, _ in pairs], held


def source_of(
    name: str,
    train: Examples,
    test: Examples | None,
    owners: tuple[str, ...],
    title: object,
    fraction: float,
    streams: Streams,
) -> Source:
    """Both parts as a source. Without a test part some examples are held out, of each owner where there are owners."""
    whole = None
    if test is None:
        whole = train
        if len(whole) < 2:
            raise DataError(f"{title}: one example cannot be held out for testing and trained on; two are needed.")
        train, test = hold_out(whole, fraction, streams.numpy("held-out test examples"))
        if not len(test):
            raise DataError(f"{title}: no owner has two examples, so that one could be held out; add a test part.")
    classes = _classes(train.y, test.y, title)
    return Source(name, train, test, classes, Pixels.of(train.x), counted=True, whole=whole, owners=owners)


def _classes(train: Tensor, test: Tensor, title: object) -> int | None:
    """How many there are; None where targets are no class numbers."""
    if train.is_floating_point() or train.ndim != 1:
        return None
    if int(min(train.min(), test.min())) < 0:
        raise DataError(f"{title}: class numbers in y must be 0 or more.")
    return int(max(train.max(), test.max())) + 1


def same_kind(first: Examples, other: Examples, name: str) -> None:
    """Refuse examples that do not fit the model of the first."""
    for field in ("x", "y"):
        a, b = getattr(first, field), getattr(other, field)
        if a.shape[1:] != b.shape[1:] or a.dtype != b.dtype:
            raise DataError(
                f"{name}: its {field} ({b.dtype}, shape {tuple(b.shape[1:])} each) must be like that of the "
                f"training data ({a.dtype}, shape {tuple(a.shape[1:])})."
            )


def _each(data: Sequence[Any]) -> list[Examples]:
    parts = [examples(part, f"data[{k}]") for k, part in enumerate(data)]
    for k, part in enumerate(parts):
        same_kind(parts[0], part, f"data[{k}]")
    return parts


def _owned(data: Mapping[Any, Any], names: Mapping[str, int], title: str) -> Examples:
    """The examples of all owners, one owner after the other."""
    if not data:
        raise DataError(f"{title}: a mapping must have one data set or more.")
    if strangers := [name for name in data if str(name) not in names]:
        raise DataError(f"{title}: {strangers[0]!r} has no data to train on; name the owners that are in data.")
    parts = {str(name): examples(part, f"{title}[{name!r}]") for name, part in data.items()}
    first = next(iter(parts.values()))
    for name, part in parts.items():
        same_kind(first, part, f"{title}[{name!r}]")
    return joined([replace(part, owner=torch.full((len(part),), names[name])) for name, part in parts.items()])


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
        data = tuple(data[key] for key in ("x", "y") if key in data)
    elif not isinstance(data, tuple):
        data = _stacked([data[i] for i in range(len(data))])
    if len(data) != 2:
        return None
    inputs, targets = _inputs(data[0]), _numbers(data[1])
    return Examples(inputs, targets) if inputs.ndim and targets.ndim else None


def _stacked(pairs: list[Any]) -> tuple[Tensor, ...]:
    """All x and all y; nothing where these are no pairs."""
    if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        return ()
    return torch.stack([_tensor(x) for x, _ in pairs]), torch.stack([_tensor(y) for _, y in pairs])


def _tensor(values: Any) -> Tensor:
    return values if isinstance(values, Tensor) else torch.as_tensor(np.asarray(values))


def _inputs(values: Any) -> Tensor:
    """Images (n, channels, height, width) stay bytes, other bytes become float32."""
    x = _tensor(values)
    if x.dtype == torch.uint8:
        return x if x.ndim == 4 else x.float()
    return _numbers(x)


def _numbers(values: Any) -> Tensor:
    """Numbers become float32, and whole ones stay whole."""
    y = _tensor(values)
    return y.float() if y.is_floating_point() else y.long()
