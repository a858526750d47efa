"""A user's own arrays: an .npz file with x and y."""

import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from heteroselect.data.examples import Examples, Source
from heteroselect.data.files import Array, reading
from heteroselect.data.own import found, inputs_of, owned, source_of, targets_of
from heteroselect.errors import DataError, SettingError
from heteroselect.files import memory


def read_npz(name: str, folders: list[Path], test_fraction: float, seed: int, owner: str = "") -> Source:
    """The file `name`, as it stands or below one of `folders`; `owner` is the array that says whose an example is."""
    path = found(name, folders)
    theirs = (owner, f"{owner}_train", f"{owner}_test") if owner else ()
    arrays = arrays_of(path, ("x", "y", "x_train", "y_train", "x_test", "y_test", *theirs))
    keys = ("x", "y") if "x" in arrays else ("x_train", "y_train")
    train, test = _npz_examples(path, arrays, *keys), None
    if "x_test" in arrays or "y_test" in arrays:
        test = _npz_examples(path, arrays, "x_test", "y_test")
        for a, b, key in ((train.x, test.x, "x"), (train.y, test.y, "y")):
            if a.dtype != b.dtype or a.shape[1:] != b.shape[1:]:
                raise DataError(f"{path} has test examples whose {key} differs in type or shape from training.")
    names: tuple[str, ...] = ()
    if owner:
        mine = arrays.get(owner, arrays.get(f"{owner}_train"))
        if mine is None:
            raise SettingError(f"data.owner_column: {path} has no array {owner!r} that says whose an example is.")
        train, test, names = owned(train, mine, test, arrays.get(f"{owner}_test"), f"{owner} in {path}")
    return source_of(name, train, test, names, path, test_fraction, seed)


def arrays_of(path: Path, wanted: Sequence[str]) -> dict[str, Array]:
    """The arrays of an .npz file that are wanted, as far as it has them."""
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path} is no .npz file, or only a part of one: write it with numpy.savez.")
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
        raise DataError(
            f"{path} holds {total:,} bytes of arrays, more than half of this machine's memory, {memory() // 2:,}."
        )


def _npz_examples(path: Path, arrays: Mapping[str, Array], x_key: str, y_key: str) -> Examples:
    if x_key not in arrays or y_key not in arrays:
        raise DataError(
            f"{path} must hold the arrays x and y, or x_train and y_train (and x_test with y_test, if any)."
        )
    x, y = arrays[x_key], arrays[y_key]
    if not x.ndim or not y.ndim or not len(x) or len(x) != len(y):
        raise DataError(
            f"{path} must hold as many {x_key} as {y_key}, and at least one, "
            f"but their shapes are {x.shape} and {y.shape}."
        )
    return Examples(inputs_of(x, f"{x_key} in {path}"), targets_of(y, f"{y_key} in {path}"))
