"""The publishers' file formats end here, so that the rest of the package meets only tensors.

`load` finds a data set in the folders of `data_folders`, as the published folder or as the archive itself
(which is read in memory, never unpacked to disk), and checks every file before believing it: a file that is
cut short, damaged or absent is an error that names it, never a smaller data set.
"""

import gzip
import lzma
import math
import os
import re
import shlex
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import resources
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from heteroselect.data.examples import Examples, Pixels, Source
from heteroselect.errors import HeteroSelectError

Array = NDArray[Any]
Parts = tuple[Examples, Examples]

NAMES = ("mnist", "cifar10", "cifar100", "tinyimagenet")
AGAIN = "so download or copy it again"


def load(name: str, folder: Path | None, *, test_fraction: float = 0.2, seed: int = 0) -> Source:
    """The data set `name`: one of NAMES, or the path of an .npz file.

    `test_fraction` and `seed` matter only to an .npz file that brings no test examples of its own.
    """
    if name.endswith(".npz"):
        return _npz(name, folder, test_fraction, seed)
    if name not in _LAYOUTS:
        allowed = f"{', '.join(NAMES)} or a path ending in .npz"
        raise HeteroSelectError(f"data.name is {name!r} but must be one of {allowed}.")
    layout = _LAYOUTS[name]
    train, test = layout.read(_find(name, folder))
    return Source(name, train, test, layout.classes, layout.pixels)


# ── where to look ──


def data_folders(folder: Path | None) -> list[Path]:
    """The folders searched, in order: only `folder` if the user named one."""
    if folder is not None:
        return [folder]
    named = os.environ.get("HETEROSELECT_DATA")
    return [*([Path(named).expanduser()] if named else []), Path("data"), _user_cache()]


def default_folder() -> Path:
    """Where a download goes when the user names no folder."""
    named = os.environ.get("HETEROSELECT_DATA")
    return Path(named).expanduser() if named else _user_cache()


def package_mnist() -> Path:
    """The copy of MNIST that ships with the package."""
    return Path(str(resources.files("heteroselect.data"))) / "mnist"


def _user_cache() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification asks that a relative path be ignored.
    return (base if base.is_absolute() else Path.home() / ".cache") / "heteroselect"


def _find(name: str, folder: Path | None) -> Path:
    """The first place that holds the data set: a published folder or an archive of one."""
    layout, folders = _LAYOUTS[name], data_folders(folder)
    for base in folders:
        for place in (base / layout.folder, *(base / file for file in layout.archives), base):
            with _reading(place):
                archive = place.name in layout.archives and place.is_file()
                if archive or any(any(place.glob(mark)) for mark in layout.marks):
                    return place
    if name == "mnist":
        return package_mnist()
    command = f"heteroselect data {name}" + (f" --data-dir {shlex.quote(str(folder))}" if folder else "")
    other = "" if folder else ", or into a folder named by --data-dir or HETEROSELECT_DATA"
    files = f"{layout.archives[0]} or the folder {layout.folder}"
    raise HeteroSelectError(
        f"The data set {name} is not in {' or '.join(map(str, folders))}: `{command}` downloads it, "
        f"otherwise put {files} into {folder or default_folder()}{other}."
    )


# ── reading files ──


@contextmanager
def _reading(title: object) -> Iterator[None]:
    """One sentence that names the file, whatever a decoder raises over it."""
    try:
        yield
    except (HeteroSelectError, MemoryError):
        raise
    except Exception as problem:  # decoders fed damaged bytes raise nearly anything
        if isinstance(problem, OSError) and problem.strerror:
            raise HeteroSelectError(f"{title} cannot be read: {problem.strerror}.") from problem
        reason = str(problem).rstrip(".") or type(problem).__name__
        raise HeteroSelectError(f"{title} is cut short or damaged ({reason}), {AGAIN}.") from problem


def _title(place: Path, member: str) -> str:
    return f"{member} in {place}" if place.is_file() else str(place / member)


def _missing(title: object) -> HeteroSelectError:
    return HeteroSelectError(f"{title} is missing from the data set, {AGAIN}.")


def _unpacked(file: Path) -> bytes:
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(file.suffix, bytes)
    with _reading(file):
        return unpack(file.read_bytes())


def _check_labels(labels: Array, limit: int, title: object) -> None:
    wrong = np.flatnonzero(labels >= limit)
    if wrong.size:
        at = int(wrong[0])
        raise HeteroSelectError(
            f"{title} is damaged (label {at} is {labels[at]}, the highest is {limit - 1}), {AGAIN}."
        )


def _examples(x: Array, labels: Array) -> Examples:
    # np.array copies: torch wants memory it may write to, and the bytes of a file are read-only.
    return Examples(torch.from_numpy(np.array(x, order="C")), torch.from_numpy(labels.astype(np.int64)))


# ── MNIST: IDX files ──


def _mnist(folder: Path) -> Parts:
    return _idx_pair(folder, "train"), _idx_pair(folder, "t10k")


def _idx_pair(folder: Path, part: str) -> Examples:
    image_file, label_file = _idx_file(folder, f"{part}-images", 3), _idx_file(folder, f"{part}-labels", 1)
    images, labels = _idx(image_file, (28, 28)), _idx(label_file, ())
    if len(images) != len(labels):
        raise HeteroSelectError(
            f"{image_file} holds {len(images):,} images but {label_file} holds {len(labels):,} labels: "
            "download or copy both again."
        )
    _check_labels(labels, 10, label_file)
    return _examples(images[:, None], labels)


def _idx_file(folder: Path, stem: str, rank: int) -> Path:
    spellings = [folder / f"{stem}{dash}idx{rank}-ubyte" for dash in "-."]
    files = [Path(f"{plain}{suffix}") for suffix in ("", ".gz", ".xz") for plain in spellings]
    for file in files:
        if file.is_file():
            return file
    raise _missing(f"{spellings[0]} (plain, .gz or .xz)")


def _idx(file: Path, shape: tuple[int, ...]) -> Array:
    """The items of an IDX file of bytes. Its header: a magic number, then the sizes of all axes."""
    data, header = _unpacked(file), struct.Struct(f">{2 + len(shape)}I")
    if len(data) < header.size:
        raise HeteroSelectError(f"{file} is cut short ({len(data)} bytes, less than its header), {AGAIN}.")
    magic, count, *sides = header.unpack_from(data)
    if magic != 0x801 + len(shape) or tuple(sides) != shape or count == 0:
        what = "images of 28×28 bytes" if shape else "labels"
        raise HeteroSelectError(f"{file} does not start like an IDX file of {what}, {AGAIN}.")
    needed, held = count * math.prod(shape), len(data) - header.size
    if held != needed:
        fault = "is cut short" if held < needed else "is too long"
        raise HeteroSelectError(f"{file} {fault} (its header announces {needed:,} bytes and {held:,} follow), {AGAIN}.")
    return np.frombuffer(data, np.uint8, offset=header.size).reshape(count, *shape)


# ── CIFAR: records of label bytes and 3 × 32 × 32 pixel bytes ──


def _cifar(train: Sequence[str], test: str, limits: tuple[int, ...], place: Path) -> Parts:
    """`limits` has the number of classes for each label byte of a record; the last is the label used."""
    files = _members(place, (*train, test))
    records = {name: _records(data, limits, _title(place, name)) for name, data in files.items()}
    most = max(train, key=lambda name: len(records[name]))
    for name in train:
        _expect(len(records[name]), len(records[most]), _title(place, name), most)
    together = np.concatenate([records[name] for name in train])
    # A subset is welcome; beside the whole training set, though, the test set must be whole too.
    if len(together) == 50_000:
        _expect(len(records[test]), 10_000, _title(place, test), "the full training set")
    return _cifar_examples(together, len(limits)), _cifar_examples(records[test], len(limits))


def _records(data: bytes, limits: tuple[int, ...], title: str) -> Array:
    size = len(limits) + 3 * 32 * 32
    if not data or len(data) % size:
        raise HeteroSelectError(
            f"{title} is cut short ({len(data):,} bytes are no whole number of records of {size:,}), {AGAIN}."
        )
    records = np.frombuffer(data, np.uint8).reshape(-1, size)
    for column, limit in enumerate(limits):
        _check_labels(records[:, column], limit, title)
    return records


def _expect(count: int, right: int, title: str, beside: str) -> None:
    if count != right:
        raise HeteroSelectError(
            f"{title} is cut short or damaged ({count:,} images, where {right:,} go with {beside}), {AGAIN}."
        )


def _cifar_examples(records: Array, labels: int) -> Examples:
    return _examples(records[:, labels:].reshape(-1, 3, 32, 32), records[:, labels - 1])


def _members(place: Path, names: Sequence[str]) -> dict[str, bytes]:
    """The named files of a folder or a .tar.gz, which is read once from front to back."""
    found: dict[str, bytes] = {}
    if place.is_dir():
        for file in (place / name for name in names):
            if file.is_file():
                found[file.name] = _unpacked(file)
    else:
        with _reading(place), gzip.open(place) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
            for member in tar:
                content = tar.extractfile(member) if PurePosixPath(member.name).name in names else None
                if content is not None:
                    found[PurePosixPath(member.name).name] = content.read()
            while stream.read(1 << 20):  # the checksum stands behind the last byte, which tar never asks for
                pass
    for name in names:
        if name not in found:
            raise _missing(_title(place, name))
    return {name: found[name] for name in names}


# ── Tiny-ImageNet: a tree of JPEG files ──

_TRAIN_IMAGE = re.compile(r"train/([^/]+)/images/[^/.][^/]*\.JPEG")
_TEST_IMAGE = re.compile(r"val/images/[^/.][^/]*\.JPEG")
_ANNOTATIONS = "val/val_annotations.txt"
Files = Mapping[str, Callable[[], bytes]]  # how to read each file, by its path below the published folder


def _tiny(place: Path) -> Parts:
    if place.is_dir():
        patterns = ("*.txt", "val/*.txt", "val/images/*", "train/*/images/*")
        found = (file for pattern in patterns for file in place.glob(pattern))
        return _tiny_parts(place, {file.relative_to(place).as_posix(): file.read_bytes for file in found})
    with _reading(place):
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
        raise _missing(_title(place, f"train/{absent[0]}/images"))
    for name, wnid in (*train, *test):
        if number.get(wnid, 200) >= 200:
            raise HeteroSelectError(
                f"{_title(place, name)} is of class {wnid}, which is not among the 200 of wnids.txt, {AGAIN}."
            )
    train.sort(key=lambda item: number[item[1]])  # a stable sort: within a class, by name
    first, second = (_decoded(place, files, [name for name, _ in part]) for part in (train, test))
    labels = [torch.tensor([number[wnid] for _, wnid in part]) for part in (train, test)]
    return Examples(first, labels[0]), Examples(second, labels[1])


def _wnids(place: Path, files: Files) -> list[str]:
    with _reading(_title(place, "wnids.txt")):
        return files.get("wnids.txt", bytes)().decode().split()


def _annotated(place: Path, files: Files) -> list[tuple[str, str]]:
    """The validation images in the order of their list, each with its class."""
    title = _title(place, _ANNOTATIONS)
    if _ANNOTATIONS not in files:
        raise _missing(title)
    with _reading(title):
        rows = [line.split()[:2] for line in files[_ANNOTATIONS]().decode().splitlines() if line.strip()]
        listed = {f"val/images/{name}": wnid for name, wnid in rows}
    images = {name for name in files if _TEST_IMAGE.fullmatch(name)}
    if absent := sorted(listed.keys() - images):
        raise _missing(_title(place, absent[0]))
    if not listed or images - listed.keys():
        raise HeteroSelectError(f"{title} is cut short ({len(listed):,} lines for {len(images):,} images), {AGAIN}.")
    return list(listed.items())


def _decoded(place: Path, files: Files, names: Sequence[str]) -> torch.Tensor:
    pixels = np.empty((len(names), 3, 64, 64), np.uint8)

    def decode(at: int) -> None:
        title = _title(place, names[at])
        with _reading(title), Image.open(BytesIO(files[names[at]]())) as image:
            if image.size != (64, 64):
                size = f"{image.width}×{image.height}"
                raise HeteroSelectError(f"{title} is damaged (its size is {size}, not 64×64), {AGAIN}.")
            pixels[at] = np.asarray(image.convert("RGB")).transpose(2, 0, 1)  # a few are grey

    # Each image has its own row, so threads that finish in any order leave the same tensor.
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        list(pool.map(decode, range(len(names))))
    return torch.from_numpy(pixels)


# ── .npz: a user's own arrays ──


def _npz(name: str, folder: Path | None, test_fraction: float, seed: int) -> Source:
    places = [Path(name).expanduser(), *(base / name for base in data_folders(folder))]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise HeteroSelectError(f"data.name is {name!r}, but there is no such file.")
    arrays = _arrays(path)
    keys = ("x", "y") if "x" in arrays else ("x_train", "y_train")
    train = _npz_examples(path, arrays, *keys)
    if "x_test" in arrays or "y_test" in arrays:
        test = _npz_examples(path, arrays, "x_test", "y_test")
    else:
        train, test = _split(train, test_fraction, seed, path)
    for a, b, key in ((train.x, test.x, "x"), (train.y, test.y, "y")):
        if a.dtype != b.dtype or a.shape[1:] != b.shape[1:]:
            raise HeteroSelectError(f"{path} has test examples whose {key} differs in type or shape from training.")
    classes = None if train.y.is_floating_point() else 1 + int(max(train.y.max(), test.y.max()))
    half = (0.5,) * train.x.shape[1] if train.x.dtype == torch.uint8 else ()
    return Source(name, train, test, classes, Pixels(half, half, augment=False) if half else None)


def _arrays(path: Path) -> dict[str, Array]:
    if not zipfile.is_zipfile(path):
        raise HeteroSelectError(f"{path} is no .npz file, or only a part of one: write it with numpy.savez.")
    wanted = ("x", "y", "x_train", "y_train", "x_test", "y_test")
    with _reading(path), np.load(path, allow_pickle=False) as file:
        return {key: np.asarray(file[key]) for key in wanted if key in file}


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
    held = min(max(round(len(whole) * test_fraction), 1), len(whole) - 1)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(whole)))
    return whole.take(order[held:].sort().values), whole.take(order[:held].sort().values)


# ── the table ──


@dataclass(frozen=True)
class _Layout:
    """What a publisher ships, how to tell that a folder holds it (`marks`), and how to read it."""

    folder: str
    archives: tuple[str, ...]
    marks: tuple[str, ...]
    classes: int
    pixels: Pixels
    read: Callable[[Path], Parts]


_BATCHES = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
_LAYOUTS = {
    "mnist": _Layout(
        "mnist",
        (),
        ("train-*-ubyte*", "t10k-*-ubyte*"),
        10,
        Pixels((0.1307,), (0.3081,), augment=False),
        _mnist,
    ),
    "cifar10": _Layout(
        "cifar-10-batches-bin",
        ("cifar-10-binary.tar.gz",),
        (*_BATCHES, "test_batch.bin"),
        10,
        Pixels((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010), augment=True),
        partial(_cifar, _BATCHES, "test_batch.bin", (10,)),
    ),
    "cifar100": _Layout(
        "cifar-100-binary",
        ("cifar-100-binary.tar.gz",),
        ("train.bin", "test.bin"),
        100,
        Pixels((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761), augment=True),
        partial(_cifar, ("train.bin",), "test.bin", (20, 100)),  # coarse, then fine label
    ),
    "tinyimagenet": _Layout(
        "tiny-imagenet-200",
        ("tiny-imagenet-200.zip", "tiny-imagenet-200-subset.zip"),
        ("wnids.txt", _ANNOTATIONS, "train/n*/images"),
        200,
        Pixels((0.4802, 0.4481, 0.3975), (0.2770, 0.2691, 0.2821), augment=True),
        _tiny,
    ),
}
