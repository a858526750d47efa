"""Image data sets as their publishers ship them: MNIST (IDX files, plain or compressed), CIFAR-10 and CIFAR-100
(records of label bytes and 3 × 32 × 32 pixel bytes) and Tiny-ImageNet (a tree of JPEG files)."""

import gzip
import math
import os
import re
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath

import numpy as np
import torch

from heteroselect.data.examples import Examples
from heteroselect.data.files import (
    Array,
    Parts,
    broken,
    check_labels,
    examples_of,
    missing,
    packed_or_plain,
    reading,
    title_of,
    unpacked,
)
from heteroselect.errors import DataError
from heteroselect.extras import require

_TRAIN_IMAGE = re.compile(r"train/([^/]+)/images/[^/.][^/]*\.JPEG")
_TEST_IMAGE = re.compile(r"val/images/[^/.][^/]*\.JPEG")
ANNOTATIONS = "val/val_annotations.txt"
Files = Mapping[str, Callable[[], bytes]]  # how to read each file, by its path below the published folder


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
    return packed_or_plain(*(folder / f"{stem}{dash}idx{rank}-ubyte" for dash in "-."))


def _idx(file: Path, shape: tuple[int, ...]) -> Array:
    """The items of an IDX file of bytes. Its header: a magic number, then the sizes of all axes."""
    data, header = unpacked(file), struct.Struct(f">{2 + len(shape)}I")
    if len(data) < header.size:
        raise broken(file, f"is cut short ({len(data)} bytes, less than its header)")
    magic, count, *sides = header.unpack_from(data)
    if magic != 0x801 + len(shape) or tuple(sides) != shape or count == 0:
        what = "images of 28×28 bytes" if shape else "labels"
        raise broken(file, f"does not start like an IDX file of {what}")
    needed, held = count * math.prod(shape), len(data) - header.size
    if held != needed:
        fault = "is cut short" if held < needed else "is too long"
        raise broken(file, f"{fault} (its header announces {needed:,} bytes and {held:,} follow)")
    return np.frombuffer(data, np.uint8, offset=header.size).reshape(count, *shape)


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
        raise broken(title, f"is cut short ({len(data):,} bytes are no whole number of records of {size:,})")
    records = np.frombuffer(data, np.uint8).reshape(-1, size)
    for column, limit in enumerate(limits):
        check_labels(records[:, column], limit, title)
    return records


def _expect(count: int, right: int, title: str, beside: str) -> None:
    if count != right:
        raise broken(title, f"is cut short or damaged ({count:,} images, where {right:,} go with {beside})")


def _cifar_examples(records: Array, labels: int) -> Examples:
    return examples_of(records[:, labels:].reshape(-1, 3, 32, 32), records[:, labels - 1])


def _members(place: Path, names: Sequence[str]) -> dict[str, bytes]:
    """The named files of a folder or a .tar.gz, which is read once from front to back."""
    found: dict[str, bytes] = {}
    if place.is_dir():
        found = {name: unpacked(place / name) for name in names if (place / name).is_file()}
    else:
        with reading(place), gzip.open(place) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
            for member in tar:
                name = PurePosixPath(member.name).name
                content = tar.extractfile(member) if name in names else None
                if content is not None:
                    found[name] = content.read()
            while stream.read(1 << 20):  # the checksum stands behind the last byte, which tar never asks for
                pass
    if absent := [name for name in names if name not in found]:
        raise missing(title_of(place, absent[0]))
    return {name: found[name] for name in names}


def read_tiny(place: Path) -> Parts:
    require("images", "data.name: tinyimagenet")
    if place.is_dir():
        patterns = ("*.txt", "val/*.txt", "val/images/*", "train/*/images/*")
        found = (file for pattern in patterns for file in place.glob(pattern))
        return _tiny_parts(place, {file.relative_to(place).as_posix(): file.read_bytes for file in found})
    with reading(place):
        archive = zipfile.ZipFile(place)
    with archive:
        members = {info.filename.removeprefix("tiny-imagenet-200/"): info for info in archive.infolist()}
        return _tiny_parts(place, {name: partial(archive.read, info) for name, info in members.items()})


def _tiny_parts(place: Path, files: Files) -> Parts:
    train = [(match[0], match[1]) for match in map(_TRAIN_IMAGE.fullmatch, sorted(files)) if match]
    test = _annotated(place, files)
    number = _numbers(place, files, sorted({wnid for _, wnid in train}))
    for name, wnid in (*train, *test):
        if number.get(wnid, 200) >= 200:
            raise broken(title_of(place, name), f"is of class {wnid}, which is not among the 200 of wnids.txt")
    train.sort(key=lambda item: number[item[1]])  # a stable sort: within a class, by name
    first, second = (_decoded(place, files, [name for name, _ in part]) for part in (train, test))
    labels = [torch.tensor([number[wnid] for _, wnid in part]) for part in (train, test)]
    return Examples(first, labels[0]), Examples(second, labels[1])


def _numbers(place: Path, files: Files, seen: list[str]) -> dict[str, int]:
    """The number of each class: its place in wnids.txt, or among those `seen` in training."""
    with reading(title_of(place, "wnids.txt")):
        listed = files.get("wnids.txt", bytes)().decode().split()
    number = {wnid: at for at, wnid in enumerate(listed or seen)}
    if absent := [wnid for wnid in number or ["<class>"] if wnid not in seen]:
        raise missing(title_of(place, f"train/{absent[0]}/images"))
    return number


def _annotated(place: Path, files: Files) -> list[tuple[str, str]]:
    """The validation images in the order of their list, each with its class."""
    title = title_of(place, ANNOTATIONS)
    if ANNOTATIONS not in files:
        raise missing(title)
    with reading(title):
        rows = [line.split()[:2] for line in files[ANNOTATIONS]().decode().splitlines() if line.strip()]
        listed = {f"val/images/{name}": wnid for name, wnid in rows}
    images = {name for name in files if _TEST_IMAGE.fullmatch(name)}
    if absent := sorted(listed.keys() - images):
        raise missing(title_of(place, absent[0]))
    if not listed or images - listed.keys():
        raise broken(title, f"is cut short ({len(listed):,} lines for {len(images):,} images)")
    return list(listed.items())


def _decoded(place: Path, files: Files, names: Sequence[str]) -> torch.Tensor:
    from PIL import Image  # of the extra `images`, which other data sets do without

    pixels = np.empty((len(names), 3, 64, 64), np.uint8)

    def decode(at: int) -> None:
        title = title_of(place, names[at])
        with reading(title), Image.open(BytesIO(files[names[at]]())) as image:
            if image.size != (64, 64):
                raise broken(title, f"is damaged (its size is {image.width}×{image.height}, not 64×64)")
            pixels[at] = np.asarray(image.convert("RGB")).transpose(2, 0, 1)  # a few are grey

    # Each image has its own row, so threads that finish in any order leave the same tensor.
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        list(pool.map(decode, range(len(names))))
    return torch.from_numpy(pixels)
