"""Tiny-ImageNet as its publishers ship it: a tree of JPEG files, unpacked or not."""

import os
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
import torch

from heteroselect.data.examples import Examples
from heteroselect.data.files import AGAIN, Parts, missing, reading, title_of
from heteroselect.errors import DataError
from heteroselect.extras import require

_TRAIN_IMAGE = re.compile(r"train/([^/]+)/images/[^/.][^/]*\.JPEG")
_TEST_IMAGE = re.compile(r"val/images/[^/.][^/]*\.JPEG")
ANNOTATIONS = "val/val_annotations.txt"
Files = Mapping[str, Callable[[], bytes]]  # how to read each file, by its path below the published folder


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
    seen = sorted({wnid for _, wnid in train})
    number = {wnid: at for at, wnid in enumerate(_wnids(place, files) or seen)}
    if absent := [wnid for wnid in number or ["<class>"] if wnid not in seen]:
        raise missing(title_of(place, f"train/{absent[0]}/images"))
    for name, wnid in (*train, *test):
        if number.get(wnid, 200) >= 200:
            raise DataError(
                f"{title_of(place, name)} is of class {wnid}, which is not among the 200 of wnids.txt, {AGAIN}."
            )
    train.sort(key=lambda item: number[item[1]])  # a stable sort: within a class, by name
    first, second = (_decoded(place, files, [name for name, _ in part]) for part in (train, test))
    labels = [torch.tensor([number[wnid] for _, wnid in part]) for part in (train, test)]
    return Examples(first, labels[0]), Examples(second, labels[1])


def _wnids(place: Path, files: Files) -> list[str]:
    with reading(title_of(place, "wnids.txt")):
        return files.get("wnids.txt", bytes)().decode().split()


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
        raise DataError(f"{title} is cut short ({len(listed):,} lines for {len(images):,} images), {AGAIN}.")
    return list(listed.items())


def _decoded(place: Path, files: Files, names: Sequence[str]) -> torch.Tensor:
    from PIL import Image  # of the extra `images`, which other data sets do without

    pixels = np.empty((len(names), 3, 64, 64), np.uint8)

    def decode(at: int) -> None:
        title = title_of(place, names[at])
        with reading(title), Image.open(BytesIO(files[names[at]]())) as image:
            if image.size != (64, 64):
                size = f"{image.width}×{image.height}"
                raise DataError(f"{title} is damaged (its size is {size}, not 64×64), {AGAIN}.")
            pixels[at] = np.asarray(image.convert("RGB")).transpose(2, 0, 1)  # a few are grey

    # Each image has its own row, so threads that finish in any order leave the same tensor.
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        list(pool.map(decode, range(len(names))))
    return torch.from_numpy(pixels)
