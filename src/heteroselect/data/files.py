"""Reading a file and not believing it: whatever is wrong with one is said in a sentence that names it."""

import gzip
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from heteroselect.data.examples import Examples
from heteroselect.errors import DataError, HeteroSelectError
from heteroselect.files import TooLargeError

Array = NDArray[Any]
Parts = tuple[Examples, Examples]


@contextmanager
def reading(title: object) -> Iterator[None]:
    """One sentence that names the file, whatever a decoder raises over it."""
    try:
        yield
    except (HeteroSelectError, MemoryError):
        raise
    except Exception as problem:  # decoders fed damaged bytes raise nearly anything
        if isinstance(problem, OSError) and problem.strerror:
            raise DataError(f"{title} cannot be read: {problem.strerror}.") from problem
        if isinstance(problem, TooLargeError):
            raise DataError(
                f"{title} is too large: {problem}; make it smaller, or use a machine with more memory."
            ) from problem
        reason = str(problem).rstrip(".") or type(problem).__name__
        raise broken(title, f"is cut short or damaged ({reason})") from problem


def title_of(place: Path, member: str) -> str:
    return f"{member} in {place}" if place.is_file() else str(place / member)


def broken(title: object, how: str) -> DataError:
    return DataError(f"{title} {how}, so download or copy it again.")


def missing(title: object) -> DataError:
    return broken(title, "is missing from the data set")


def packed_or_plain(*spellings: Path) -> Path:
    """The first of these files that is there, plain or compressed."""
    for file in (Path(f"{plain}{suffix}") for suffix in ("", ".gz", ".xz") for plain in spellings):
        if file.is_file():
            return file
    raise missing(f"{spellings[0]} (plain, .gz or .xz)")


def unpacked(file: Path) -> bytes:
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(file.suffix, bytes)
    with reading(file):
        return unpack(file.read_bytes())


def check_labels(labels: Array, limit: int, title: object) -> None:
    wrong = np.flatnonzero(labels >= limit)
    if wrong.size:
        at = int(wrong[0])
        raise broken(title, f"is damaged (label {at} is {labels[at]}, the highest is {limit - 1})")


def examples_of(x: Array, labels: Array) -> Examples:
    # np.array copies: torch wants memory it may write to, and the bytes of a file are read-only.
    return Examples(torch.from_numpy(np.array(x, order="C")), torch.from_numpy(labels.astype(np.int64)))
