"""CIFAR-10 and CIFAR-100 as their publishers ship them: records of label bytes and 3 × 32 × 32 pixel bytes."""

import gzip
import tarfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from heteroselect.data.examples import Examples
from heteroselect.data.files import AGAIN, Array, Parts, check_labels, examples_of, missing, reading, title_of, unpacked
from heteroselect.errors import DataError


def read_cifar(train: Sequence[str], test: str, limits: tuple[int, ...], place: Path) -> Parts:
    """`limits` has the number of classes for each label byte of a record; the last is the label used."""
    files = _members(place, (*train, test))
    records = {name: _records(data, limits, title_of(place, name)) for name, data in files.items()}
    most = max(train, key=lambda name: len(records[name]))
    for name in train:
        _expect(len(records[name]), len(records[most]), title_of(place, name), most)
    # A subset is welcome; beside the whole training set, though, the test set must be whole too.
    if sum(len(records[name]) for name in train) == 50_000:
        _expect(len(records[test]), 10_000, title_of(place, test), "the full training set")
    together = np.concatenate([records[name] for name in train])
    return _cifar_examples(together, len(limits)), _cifar_examples(records[test], len(limits))


def _records(data: bytes, limits: tuple[int, ...], title: str) -> Array:
    size = len(limits) + 3 * 32 * 32
    if not data or len(data) % size:
        raise DataError(
            f"{title} is cut short ({len(data):,} bytes are no whole number of records of {size:,}), {AGAIN}."
        )
    records = np.frombuffer(data, np.uint8).reshape(-1, size)
    for column, limit in enumerate(limits):
        check_labels(records[:, column], limit, title)
    return records


def _expect(count: int, right: int, title: str, beside: str) -> None:
    if count != right:
        raise DataError(
            f"{title} is cut short or damaged ({count:,} images, where {right:,} go with {beside}), {AGAIN}."
        )


def _cifar_examples(records: Array, labels: int) -> Examples:
    return examples_of(records[:, labels:].reshape(-1, 3, 32, 32), records[:, labels - 1])


def _members(place: Path, names: Sequence[str]) -> dict[str, bytes]:
    """The named files of a folder or a .tar.gz, which is read once from front to back."""
    found: dict[str, bytes] = {}
    if place.is_dir():
        for file in (place / name for name in names):
            if file.is_file():
                found[file.name] = unpacked(file)
    else:
        with reading(place), gzip.open(place) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
            for member in tar:
                content = tar.extractfile(member) if PurePosixPath(member.name).name in names else None
                if content is not None:
                    found[PurePosixPath(member.name).name] = content.read()
            while stream.read(1 << 20):  # the checksum stands behind the last byte, which tar never asks for
                pass
    for name in names:
        if name not in found:
            raise missing(title_of(place, name))
    return {name: found[name] for name in names}
