"""A user's own arrays: an .npz file with x and y."""

import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from heteroselect.data.examples import Examples, Pixels, Source, hold_out
from heteroselect.data.files import Array, Parts, reading
from heteroselect.errors import HeteroSelectError
from heteroselect.files import memory
from heteroselect.streams import Streams


def read_npz(name: str, folders: list[Path], test_fraction: float, seed: int) -> Source:
    """The file `name`, as it stands or below one of `folders`."""
    places = [Path(name).expanduser(), *(base / name for base in folders)]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise HeteroSelectError(f"data.name is {name!r}, but there is no such file.")
    arrays = _arrays(path)
    keys = ("x", "y") if "x" in arrays else ("x_train", "y_train")
    train, whole = _npz_examples(path, arrays, *keys), None
    if "x_test" in arrays or "y_test" in arrays:
        test = _npz_examples(path, arrays, "x_test", "y_test")
    else:
        whole = train
        train, test = _split(train, test_fraction, seed, path)
    for a, b, key in ((train.x, test.x, "x"), (train.y, test.y, "y")):
        if a.dtype != b.dtype or a.shape[1:] != b.shape[1:]:
            raise HeteroSelectError(f"{path} has test examples whose {key} differs in type or shape from training.")
    classes = None if train.y.is_floating_point() else 1 + int(max(train.y.max(), test.y.max()))
    return Source(name, train, test, classes, Pixels.of(train.x), counted=True, whole=whole)


def _arrays(path: Path) -> dict[str, Array]:
    if not zipfile.is_zipfile(path):
        raise HeteroSelectError(f"{path} is no .npz file, or only a part of one: write it with numpy.savez.")
    wanted = ("x", "y", "x_train", "y_train", "x_test", "y_test")
    _refuse_bombs(path, wanted)
    with reading(path), np.load(path, allow_pickle=False) as file:
        return {key: np.asarray(file[key]) for key in wanted if key in file}


def _refuse_bombs(path: Path, wanted: Sequence[str]) -> None:
    """A small file may hold, or pretend to hold, more than there is memory: its headers are read before its arrays."""
    total = 0
    with reading(path), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.filename.removesuffix(".npy") in wanted:
                with archive.open(member) as file:
                    first = np.lib.format.read_magic(file) < (2, 0)
                    header = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
                    shape, _, dtype = header(file)
                size = math.prod(shape) * dtype.itemsize
                if size > member.file_size:
                    raise ValueError(f"{member.filename} says that it has {size:,} bytes, and has {member.file_size:,}")
                total += max(size, 8 * math.prod(shape) if dtype.kind in "iu" else size)
    if total > memory() / 2:
        raise HeteroSelectError(
            f"{path} holds {total:,} bytes of arrays; allowed is half of this machine's memory, {memory() // 2:,}."
        )


def _npz_examples(path: Path, arrays: Mapping[str, Array], x_key: str, y_key: str) -> Examples:
    if x_key not in arrays or y_key not in arrays:
        raise HeteroSelectError(
            f"{path} must hold the arrays x and y, or x_train and y_train (and x_test with y_test, if any)."
        )
    x, y = arrays[x_key], arrays[y_key]
    if not x.ndim or not y.ndim or not len(x) or len(x) != len(y):
        raise HeteroSelectError(
            f"{path} must hold as many {x_key} as {y_key}, and at least one, "
            f"but their shapes are {x.shape} and {y.shape}."
        )
    image = x.dtype == np.uint8 and x.ndim in (3, 4)
    inputs = _channels_first(x, f"{x_key} in {path}") if image else _numbers(x, f"{x_key} in {path}")
    targets = _numbers(y, f"{y_key} in {path}")
    if targets.dtype == np.int64 and (targets.ndim != 1 or targets.min() < 0):
        raise HeteroSelectError(f"{y_key} in {path} must be one class number an example, from 0 upwards.")
    return Examples(torch.from_numpy(np.array(inputs, order="C")), torch.from_numpy(targets))


def _channels_first(x: Array, title: str) -> Array:
    images = x[:, None] if x.ndim == 3 else x
    if images.shape[3] in (1, 3) and images.shape[1] not in (1, 3):
        images = images.transpose(0, 3, 1, 2)
    # More channels than rows or columns are surely another order of axes, such as RGBA images.
    if images.shape[1] > min(images.shape[2:]):
        raise HeteroSelectError(
            f"{title} has shape {x.shape}, but images must be (n, h, w), (n, c, h, w) or (n, h, w, 1 or 3)."
        )
    return images


def _numbers(array: Array, title: str) -> Array:
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind != "f":
        raise HeteroSelectError(f"{title} must hold numbers, but its type is {array.dtype}.")
    with np.errstate(over="ignore"):  # what does not fit float32 is reported below
        numbers = array.astype(np.float32)
    if not np.isfinite(numbers).all():
        raise HeteroSelectError(f"{title} must hold finite numbers, but some are not a number or infinite.")
    return numbers


def _split(whole: Examples, test_fraction: float, seed: int, path: Path) -> Parts:
    """Hold out a random part. Both parts keep the order of the file."""
    if not 0 < test_fraction < 1:
        raise HeteroSelectError(f"data.test_fraction is {test_fraction} but must lie between 0 and 1.")
    if len(whole) < 2:
        raise HeteroSelectError(f"{path} holds one example, but two are needed to hold one out for testing.")
    return hold_out(whole, test_fraction, Streams(seed).numpy("held-out test examples"))
