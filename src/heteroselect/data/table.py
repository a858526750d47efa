"""A user's own table: a .csv file with a line of names, then one example per line."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from heteroselect.data.examples import Columns, Examples, Source
from heteroselect.data.files import Array, reading
from heteroselect.data.own import found, inputs_of, owned, source_of, targets_of
from heteroselect.errors import DataError, SettingError
from heteroselect.files import memory, opened_text


def read_table(name: str, folders: list[Path], columns: Columns, test_fraction: float, seed: int) -> Source:
    """The file `name`: the label, whose it is, and all other columns as the inputs (or the one that is named).

    Labels that are no numbers are classes in the order of their names.
    """
    path = found(name, folders)
    heads, rows = _lines(path)
    label = column_of(columns.label, heads, "data.label_column", path)
    owner = column_of(columns.owner, heads, "data.owner_column", path) if columns.natural else None
    others = [place for place, head in enumerate(heads) if place != label and head != columns.owner]
    inputs = [column_of(columns.input, heads, "data.input_column", path)] if columns.input else others
    if not inputs:
        raise DataError(f"{path} has no column for the inputs besides labels and owners.")
    x = np.stack([_numbers(rows, place, f"column {heads[place]!r} in {path}") for place in inputs], axis=1)
    y = _labels(_column(rows, label), f"column {heads[label]!r} in {path}")
    whole, names = Examples(inputs_of(x, f"the inputs in {path}"), y), ()
    if owner is None:
        return source_of(name, whole, None, names, path, test_fraction, seed)
    marked, _, whose = owned(whole, _owners(_column(rows, owner)), None, None, f"column {heads[owner]!r} in {path}")
    return source_of(name, marked, None, whose, path, test_fraction, seed)


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


def _owners(column: Array) -> Array:
    """Numbers where all are, so that 10 comes after 9."""
    try:
        return column.astype(np.int64)
    except ValueError:
        return column


def _numbers(rows: Sequence[Sequence[str]], place: int, title: str) -> Array:
    try:
        return _column(rows, place).astype(np.float64)
    except ValueError as error:
        raise DataError(f"{title} must hold numbers ({error}).") from error


def _labels(column: Array, title: str) -> torch.Tensor:
    """Whole numbers are classes, other numbers are what they are, and other words are classes by name."""
    for kind in (np.int64, np.float64):
        try:
            return targets_of(column.astype(kind), title)
        except ValueError:
            continue
    return torch.from_numpy(np.unique(column, return_inverse=True)[1])
