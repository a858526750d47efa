"""MNIST as its publishers ship it: IDX files, plain or compressed."""

import math
import struct
from pathlib import Path

import numpy as np

from heteroselect.data.examples import Examples
from heteroselect.data.files import AGAIN, Array, Parts, check_labels, examples_of, missing, unpacked
from heteroselect.errors import DataError


def read_mnist(folder: Path) -> Parts:
    return _idx_pair(folder, "train"), _idx_pair(folder, "t10k")


def _idx_pair(folder: Path, part: str) -> Examples:
    image_file, label_file = _idx_file(folder, f"{part}-images", 3), _idx_file(folder, f"{part}-labels", 1)
    images, labels = _idx(image_file, (28, 28)), _idx(label_file, ())
    if len(images) != len(labels):
        raise DataError(
            f"{image_file} holds {len(images):,} images but {label_file} holds {len(labels):,} labels: "
            "download or copy both again."
        )
    check_labels(labels, 10, label_file)
    return examples_of(images[:, None], labels)


def _idx_file(folder: Path, stem: str, rank: int) -> Path:
    spellings = [folder / f"{stem}{dash}idx{rank}-ubyte" for dash in "-."]
    files = [Path(f"{plain}{suffix}") for suffix in ("", ".gz", ".xz") for plain in spellings]
    for file in files:
        if file.is_file():
            return file
    raise missing(f"{spellings[0]} (plain, .gz or .xz)")


def _idx(file: Path, shape: tuple[int, ...]) -> Array:
    """The items of an IDX file of bytes. Its header: a magic number, then the sizes of all axes."""
    data, header = unpacked(file), struct.Struct(f">{2 + len(shape)}I")
    if len(data) < header.size:
        raise DataError(f"{file} is cut short ({len(data)} bytes, less than its header), {AGAIN}.")
    magic, count, *sides = header.unpack_from(data)
    if magic != 0x801 + len(shape) or tuple(sides) != shape or count == 0:
        what = "images of 28×28 bytes" if shape else "labels"
        raise DataError(f"{file} does not start like an IDX file of {what}, {AGAIN}.")
    needed, held = count * math.prod(shape), len(data) - header.size
    if held != needed:
        fault = "is cut short" if held < needed else "is too long"
        raise DataError(f"{file} {fault} (its header announces {needed:,} bytes and {held:,} follow), {AGAIN}.")
    return np.frombuffer(data, np.uint8, offset=header.size).reshape(count, *shape)
