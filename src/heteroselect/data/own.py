"""Data of a user's own as a source: whatever file it comes from, what is checked and held out is the same."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from heteroselect.core.streams import Streams
from heteroselect.data.examples import Examples, Pixels, Source, hold_out, hold_out_of_each
from heteroselect.data.files import Array, Parts
from heteroselect.errors import DataError, SettingError


def found(name: str, folders: list[Path]) -> Path:
    """The path of a file of the user's own: as it stands, or below one of `folders`."""
    places = [Path(name).expanduser(), *(base / name for base in folders)]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise SettingError(f"data.name is {name!r}, but there is no such file.")
    return path


def source_of(
    name: str,
    train: Examples,
    test: Examples | None,
    owners: tuple[str, ...],
    title: object,
    test_fraction: float,
    seed: int,
) -> Source:
    """Data of the user's own as a source; without a test part some examples are held out, of each owner where there are
    owners."""
    whole = None
    if test is None:
        whole = train
        train, test = _split(train, test_fraction, seed, title)
    classes = None if train.y.is_floating_point() else 1 + int(max(train.y.max(), test.y.max()))
    return Source(name, train, test, classes, Pixels.of(train.x), counted=True, whole=whole, owners=owners)


def owned(
    train: Examples, mine: Array, test: Examples | None, theirs: Array | None, title: str
) -> tuple[Examples, Examples | None, tuple[str, ...]]:
    """Both parts with the numbers of their owners, and the owners' names in that order: sorted, numbers as numbers."""
    given = [(train, mine), *([] if test is None or theirs is None else [(test, theirs)])]
    for part, column in given:
        if column.dtype.kind not in "iuU" or column.shape != (len(part),):
            raise DataError(
                f"{title} must be one whole number or text an example, {len(part):,} of them, but it is of type "
                f"{column.dtype} and shape {column.shape}."
            )
    names, numbers = np.unique(np.concatenate([column for _, column in given]), return_inverse=True)
    marked = [
        replace(part, owner=torch.from_numpy(n))
        for (part, _), n in zip(given, np.split(numbers, [len(train)]), strict=False)
    ]
    return marked[0], marked[1] if len(marked) > 1 else test, tuple(map(str, names))


def inputs_of(x: Array, title: str) -> Tensor:
    """Images as bytes (n, channels, height, width), other numbers as float32 or int64."""
    image = x.dtype == np.uint8 and x.ndim in (3, 4)
    inputs = _channels_first(x, title) if image else _numbers(x, title)
    return torch.from_numpy(np.array(inputs, order="C"))


def targets_of(y: Array, title: str) -> Tensor:
    """Whole numbers are classes, one per example."""
    targets = _numbers(y, title)
    if targets.dtype == np.int64 and (targets.ndim != 1 or targets.min() < 0):
        raise DataError(f"{title} must be one class number an example, from 0 upwards.")
    return torch.from_numpy(targets)


def _channels_first(x: Array, title: str) -> Array:
    images = x[:, None] if x.ndim == 3 else x
    if images.shape[3] in (1, 3) and images.shape[1] not in (1, 3):
        images = images.transpose(0, 3, 1, 2)
    # More channels than rows or columns are surely another order of axes, such as RGBA images.
    if images.shape[1] > min(images.shape[2:]):
        raise DataError(
            f"{title} has shape {x.shape}, but images must be (n, h, w), (n, c, h, w) or (n, h, w, 1 or 3)."
        )
    return images


def _numbers(array: Array, title: str) -> Array:
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind != "f":
        raise DataError(f"{title} must hold numbers, but its type is {array.dtype}.")
    with np.errstate(over="ignore"):  # what does not fit float32 is reported below
        numbers = array.astype(np.float32)
    if not np.isfinite(numbers).all():
        raise DataError(f"{title} must hold finite numbers, but some are not a number or infinite.")
    return numbers


def _split(whole: Examples, test_fraction: float, seed: int, path: object) -> Parts:
    """Hold out a random part, of each owner where there are owners. Both parts keep the order of the file."""
    if not 0 < test_fraction < 1:
        raise SettingError(f"data.test_fraction is {test_fraction} but must lie between 0 and 1.")
    if len(whole) < 2:
        raise DataError(f"{path} holds one example, but two are needed to hold one out for testing.")
    rng = Streams(seed).numpy("held-out test examples")
    if whole.owner is None:
        return hold_out(whole, test_fraction, rng)
    train, test = hold_out_of_each(whole, test_fraction, rng)
    if not len(test):
        raise DataError(f"{path} has no owner of two examples, one of which could be held out for testing.")
    return train, test
