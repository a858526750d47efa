"""A user's own files: arrays (.npz with x and y), and tables (.csv with a line of names, then one example per line)."""

import csv
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from heteroselect.core.streams import Streams
from heteroselect.data.examples import Columns, Examples, Source
from heteroselect.data.files import Array, reading
from heteroselect.data.own import same_kind, source_of
from heteroselect.errors import DataError, SettingError
from heteroselect.files import memory, opened_text


def read_npz(name: str, folders: list[Path], columns: Columns, test_fraction: float, seed: int) -> Source:
    """The file `name`, as it stands or below one of `folders`; the array of the owner's column says whose an example
    is."""
    path, owner = _path(name, folders), columns.owner if columns.natural else ""
    theirs = (owner, f"{owner}_train", f"{owner}_test") if owner else ()
    arrays = arrays_of(path, ("x", "y", "x_train", "y_train", "x_test", "y_test", *theirs))
    keys = ("x", "y") if "x" in arrays else ("x_train", "y_train")
    train, test = _npz_examples(path, arrays, *keys), None
    if "x_test" in arrays or "y_test" in arrays:
        test = _npz_examples(path, arrays, "x_test", "y_test")
        same_kind(train, test, f"the test part of {path}")
    names: tuple[str, ...] = ()
    if owner:
        mine = arrays.get(owner, arrays.get(f"{owner}_train"))
        if mine is None:
            raise SettingError(f"data.owner_column: {path} has no array {owner!r} that says whose an example is.")
        train, test, names = owned(train, mine, test, arrays.get(f"{owner}_test"), f"{owner} in {path}")
    return source_of(name, train, test, names, path, test_fraction, Streams(seed))


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


def read_table(name: str, folders: list[Path], columns: Columns, test_fraction: float, seed: int) -> Source:
    """The file `name`: the label, whose it is, and all other columns as the inputs (or the one that is named).

    Labels that are no numbers are classes in the order of their names.
    """
    path = _path(name, folders)
    heads, rows = _lines(path)
    label = column_of(columns.label, heads, "data.label_column", path)
    owner = column_of(columns.owner, heads, "data.owner_column", path) if columns.natural else None
    others = [place for place, head in enumerate(heads) if place != label and head != columns.owner]
    inputs = [column_of(columns.input, heads, "data.input_column", path)] if columns.input else others
    if not inputs:
        raise DataError(f"{path} has no column for the inputs besides labels and owners.")
    x = np.stack([_floats(_column(rows, place), f"column {heads[place]!r} in {path}") for place in inputs], axis=1)
    y = _labels(_column(rows, label), f"column {heads[label]!r} in {path}")
    whole = Examples(inputs_of(x, f"the inputs in {path}"), y)
    names: tuple[str, ...] = ()
    if owner is not None:
        whose = _whole_numbers(_column(rows, owner))
        whole, _, names = owned(whole, whose, None, None, f"column {heads[owner]!r} in {path}")
    return source_of(name, whole, None, names, path, test_fraction, Streams(seed))


def column_of(name: str, heads: Sequence[str], setting: str, title: object) -> int:
    """The place of a column; the error names those that there are."""
    if name not in heads:
        raise SettingError(f"{setting}: {title} has no column {name!r}; name one of {', '.join(heads)}.")
    return heads.index(name)


def _lines(path: Path) -> tuple[list[str], list[list[str]]]:
    # the cells of a table take about six times its bytes in memory
    with reading(path), opened_text(path, memory() // 16) as file:
        rows = [row for row in csv.reader(file) if row]
    if len(rows) < 2:
        raise DataError(f"{path} must have a line of names and one line or more of examples.")
    heads = [head.removeprefix("\ufeff").strip() for head in rows[0]]  # with which some programs begin their tables
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(heads):
            raise DataError(
                f"{path} must have {len(heads)} cells in every line, but its example {number} has {len(row)}."
            )
    return heads, rows[1:]


def _column(rows: Sequence[Sequence[str]], place: int) -> Array:
    return np.array([row[place].strip() for row in rows])


def _whole_numbers(column: Array) -> Array:
    """Numbers where all are, so that 10 comes after 9."""
    try:
        return column.astype(np.int64)
    except ValueError:
        return column


def _floats(column: Array, title: str) -> Array:
    try:
        return column.astype(np.float64)
    except ValueError as error:
        raise DataError(f"{title} must hold numbers ({error}).") from error


def _labels(column: Array, title: str) -> Tensor:
    """Whole numbers are classes, other numbers are what they are, and other words are classes by name."""
    for kind in (np.int64, np.float64):
        try:
            return targets_of(column.astype(kind), title)
        except ValueError:
            continue
    return torch.from_numpy(np.unique(column, return_inverse=True)[1])


def _path(name: str, folders: list[Path]) -> Path:
    """A file as it stands, or below one of `folders`."""
    for place in (Path(name).expanduser(), *(base / name for base in folders)):
        if place.is_file():
            return place
    raise SettingError(f"data.name is {name!r}, but there is no such file.")


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
    whose = torch.from_numpy(numbers)
    if len(given) > 1 and test is not None:
        test = replace(test, owner=whose[len(train) :])
    return replace(train, owner=whose[: len(train)]), test, tuple(map(str, names))


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
