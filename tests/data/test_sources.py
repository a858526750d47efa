"""Every layout is written small by hand, read back by the pixel, then broken in each way that must be named."""

import gzip
import hashlib
import io
import lzma
import os
import re
import struct
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from heteroselect.data.examples import Pixels
from heteroselect.data.sources import NAMES, data_folders, default_folder, installed_mnist, load
from heteroselect.errors import HeteroSelectError

pytestmark = pytest.mark.slow  # whole data sets

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
RECORD = {"cifar10": 1 + 3072, "cifar100": 2 + 3072}


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a working folder without any data, so that only what a test writes can be found."""
    home = tmp_path / "nowhere"
    home.mkdir()
    monkeypatch.chdir(home)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.delenv("HETEROSELECT_DATA", raising=False)
    return home


def fails(name: str, folder: Path | None, *words: str, **settings: Any) -> None:
    """Loading fails with one sentence that holds all the words."""
    with pytest.raises(HeteroSelectError) as caught:
        load(name, folder, **settings)
    message = str(caught.value)
    for word in words:
        assert word in message
    assert message.endswith(".")
    assert "\n" not in message
    assert not re.search(r"[.!?] [A-Z]", message)


def cut(file: Path, to: int) -> None:
    file.write_bytes(file.read_bytes()[:to])


def spoil(file: Path, at: int, byte: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] = byte
    file.write_bytes(data)


# ── what is asked for, and where it is looked for ──


@pytest.mark.parametrize("name", ["imagenet", "MNIST", "", "mnist.npy"])
def test_an_unknown_name_is_refused_with_the_names_allowed(name: str, tmp_path: Path) -> None:
    fails(name, tmp_path, "data.name", repr(name), *NAMES, ".npz")


def test_without_a_folder_the_variable_comes_first_then_data_then_the_cache(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = nowhere / "cache" / "heteroselect"
    assert data_folders(None) == [Path("data"), cache]
    assert default_folder() == cache
    monkeypatch.setenv("HETEROSELECT_DATA", "/somewhere")
    assert data_folders(None) == [Path("/somewhere"), Path("data"), cache]
    assert default_folder() == Path("/somewhere")
    assert data_folders(nowhere) == [nowhere], "and a folder that is named is the only one"


@pytest.mark.parametrize("value", [None, "", "relative"])
def test_the_cache_is_below_home_unless_xdg_names_an_absolute_path(
    value: str | None, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(nowhere))
    if value is None:
        monkeypatch.delenv("XDG_CACHE_HOME")
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert default_folder() == nowhere / ".cache" / "heteroselect"


@pytest.mark.parametrize("where", ["variable", "data", "cache"])
def test_each_of_the_usual_folders_is_found(where: str, nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = {"variable": nowhere / "v", "data": nowhere / "data", "cache": nowhere / "cache/heteroselect"}
    if where == "variable":
        monkeypatch.setenv("HETEROSELECT_DATA", str(folder[where]))
    write_cifar("cifar100", folder[where] / "cifar-100-binary", 3, 2)
    assert len(load("cifar100", None).train) == 3


@pytest.mark.parametrize(
    ("name", "archive", "folder"),
    [
        ("cifar10", "cifar-10-binary.tar.gz", "cifar-10-batches-bin"),
        ("cifar100", "cifar-100-binary.tar.gz", "cifar-100-binary"),
        ("tinyimagenet", "tiny-imagenet-200.zip", "tiny-imagenet-200"),
    ],
)
def test_a_missing_data_set_says_how_to_get_it_and_where_to_put_it(
    name: str, archive: str, folder: str, tmp_path: Path, nowhere: Path
) -> None:
    fails(name, None, f"`heteroselect data {name}`", archive, folder, "--data-dir", "HETEROSELECT_DATA")
    fails(name, None, str(nowhere / "cache" / "heteroselect"))
    # A download to the usual folder would not be seen by a run that names another one.
    fails(name, tmp_path, f"`heteroselect data {name} --data-dir {tmp_path}`", f"into {tmp_path}.", archive)
    (tmp_path / folder).mkdir()
    fails(name, tmp_path, f"`heteroselect data {name}")


# ── MNIST ──


def idx(array: np.ndarray[Any, Any]) -> bytes:
    return struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


def write_mnist(folder: Path, train: int = 3, test: int = 2, spelling: str = "{}-idx{}-ubyte") -> Path:
    """Image i of a part is i + its column everywhere; labels count down from 9 (training) or up from 0."""
    folder.mkdir(parents=True)
    for part, count, labels in (("train", train, 9 - np.arange(train)), ("t10k", test, np.arange(test))):
        ramp = np.arange(28, dtype=np.uint8)
        images = np.stack([np.tile(ramp + i, (28, 1)) for i in range(count)]).astype(np.uint8)
        (folder / spelling.format(f"{part}-images", 3)).write_bytes(idx(images))
        (folder / spelling.format(f"{part}-labels", 1)).write_bytes(idx(labels.astype(np.uint8)))
    return folder


def test_mnist_as_installed_is_the_published_one(tmp_path: Path) -> None:
    source = load("mnist", tmp_path)
    header = struct.pack(">4I", 0x803, 60_000, 28, 28)
    published = hashlib.md5(header + source.train.x.numpy().tobytes()).hexdigest()
    assert published == "6bbc9ace898e44ae57da46a324031adb"
    assert source.train.x.shape == (60_000, 1, 28, 28)
    assert source.test.x.shape == (10_000, 1, 28, 28)
    assert source.train.y[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert source.test.y[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert (source.train.x.dtype, source.train.y.dtype) == (torch.uint8, torch.int64)
    assert (source.name, source.classes) == ("mnist", 10)
    assert source.pixels == Pixels((0.1307,), (0.3081,), augment=False)


def test_without_its_package_mnist_is_asked_for_in_one_sentence(
    nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "heteroselect_mnist", None)
    assert installed_mnist() is None
    ways = ("`pip install heteroselect-mnist`", "the folder mnist")
    fails("mnist", None, *ways, "`heteroselect data mnist` downloads it", "HETEROSELECT_DATA")
    fails("mnist", tmp_path, *ways, f"--data-dir {tmp_path}`")
    write_mnist(nowhere / "own" / "mnist")
    monkeypatch.setenv("HETEROSELECT_DATA", str(nowhere / "own"))
    assert load("mnist", None).train.y.tolist() == [9, 8, 7]


def test_without_pillow_tiny_imagenet_says_which_extra_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny-imagenet-200.zip").touch()
    monkeypatch.setitem(sys.modules, "PIL", None)
    fails("tinyimagenet", tmp_path, "data.name: tinyimagenet", "Pillow", "'heteroselect[images]'")


def test_its_package_names_the_authors_and_the_licence_of_mnist() -> None:
    text = (ROOT / "packages" / "heteroselect-mnist" / "LICENSE.md").read_text()
    for word in ("LeCun", "Cortes", "Burges", "CC BY-SA 3.0", "unchanged"):
        assert word in text


@pytest.mark.parametrize("inner", ["mnist", "."])
@pytest.mark.parametrize("spelling", ["{}-idx{}-ubyte", "{}.idx{}-ubyte"])
def test_mnist_of_the_users_own_comes_before_the_package(inner: str, spelling: str, tmp_path: Path) -> None:
    write_mnist(tmp_path / "own" / inner, spelling=spelling)
    source = load("mnist", tmp_path / "own")
    assert source.train.x.shape == (3, 1, 28, 28)
    assert source.train.x[2, 0, 5, 7] == 9  # image 2, column 7
    assert source.train.y.tolist() == [9, 8, 7]
    assert source.test.y.tolist() == [0, 1]


def test_mnist_files_may_each_be_compressed(tmp_path: Path) -> None:
    folder = write_mnist(tmp_path / "mnist")
    for file, pack, suffix in (
        (folder / "train-images-idx3-ubyte", gzip.compress, ".gz"),
        (folder / "t10k-labels-idx1-ubyte", lzma.compress, ".xz"),
    ):
        Path(f"{file}{suffix}").write_bytes(pack(file.read_bytes()))
        file.unlink()
    source = load("mnist", tmp_path)
    assert source.train.x[1, 0, 0].tolist() == list(range(1, 29))
    assert source.test.y.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("file", "harm", "words"),
    [
        ("train-images-idx3-ubyte", lambda f: cut(f, -1), ("is cut short", "2,352", "2,351")),
        ("train-images-idx3-ubyte", lambda f: cut(f, 9), ("is cut short", "header")),
        ("train-images-idx3-ubyte", lambda f: cut(f, 0), ("is cut short", "0 bytes")),
        ("t10k-labels-idx1-ubyte", lambda f: f.write_bytes(f.read_bytes() + b"x"), ("is too long",)),
        ("t10k-labels-idx1-ubyte", lambda f: spoil(f, 3, 3), ("IDX", "labels")),
        ("train-images-idx3-ubyte", lambda f: spoil(f, 3, 1), ("IDX", "images")),
        ("train-images-idx3-ubyte", lambda f: spoil(f, 11, 27), ("IDX", "28×28")),
        ("train-labels-idx1-ubyte", lambda f: spoil(f, 10, 10), ("is damaged", "label 2 is 10", "9")),
        ("t10k-images-idx3-ubyte", lambda f: f.unlink(), ("is missing",)),
        (
            "train-labels-idx1-ubyte",
            lambda f: f.write_bytes(idx(np.zeros(4, np.uint8))),
            ("3 images", "4 labels", "train-images-idx3-ubyte"),
        ),
    ],
)
def test_a_broken_mnist_file_is_named(
    file: str, harm: Callable[[Path], None], words: tuple[str, ...], tmp_path: Path
) -> None:
    folder = write_mnist(tmp_path / "mnist")
    harm(folder / file)
    fails("mnist", tmp_path, str(folder / file), *words)


@pytest.mark.parametrize(("pack", "suffix"), [(gzip.compress, ".gz"), (lzma.compress, ".xz")])
@pytest.mark.parametrize("end", [0, 10, -5])
def test_a_broken_compressed_file_is_named(
    pack: Callable[[bytes], bytes], suffix: str, end: int, tmp_path: Path
) -> None:
    plain = write_mnist(tmp_path / "mnist") / "train-images-idx3-ubyte"
    packed = Path(f"{plain}{suffix}")
    packed.write_bytes(pack(plain.read_bytes())[:end])
    plain.unlink()
    fails("mnist", tmp_path, str(packed), "cut short")


# ── CIFAR ──


def cifar_records(name: str, count: int, start: int) -> np.ndarray[Any, Any]:
    """Image i is red i, green 100 + i and blue 200; its first row is red 255; its label is i (coarse: 7)."""
    records = np.empty((count, RECORD[name]), np.uint8)
    for row, i in enumerate(range(start, start + count)):
        red = np.full(1024, i)
        red[:32] = 255
        labels = [i % 10] if name == "cifar10" else [7, i % 100]
        records[row] = np.concatenate([labels, red, np.full(1024, 100 + i), np.full(1024, 200)])
    return records


def write_cifar(name: str, folder: Path, train: int = 2, test: int = 3) -> Path:
    """`train` images a training file, numbered through; the test images follow from 50."""
    folder.mkdir(parents=True)
    files = [f"data_batch_{n}.bin" for n in range(1, 6)] if name == "cifar10" else ["train.bin"]
    for at, file in enumerate(files):
        cifar_records(name, train, at * train).tofile(folder / file)
    test_file = "test_batch.bin" if name == "cifar10" else "test.bin"
    cifar_records(name, test, 50).tofile(folder / test_file)
    return folder


def pack_tar(folder: Path, archive: Path, order: Callable[[list[Path]], list[Path]] = sorted) -> Path:
    with tarfile.open(archive, "w:gz") as tar:
        for file in order(list(folder.iterdir())):
            tar.add(file, f"{folder.name}/{file.name}")
    return archive


@pytest.mark.parametrize("form", ["folder", "direct", "archive"])
@pytest.mark.parametrize(
    ("name", "inner", "pixels"),
    [
        ("cifar10", "cifar-10", Pixels((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010), augment=True)),
        ("cifar100", "cifar-100", Pixels((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761), augment=True)),
    ],
)
def test_cifar_in_every_form(name: str, inner: str, pixels: Pixels, form: str, tmp_path: Path) -> None:
    """CIFAR-100 by its fine label."""
    ten = name == "cifar10"
    folder = write_cifar(name, tmp_path / "w" / f"{inner}-{'batches-bin' if ten else 'binary'}", 2 if ten else 10)
    if form == "archive":  # the order of an archive's members says nothing
        pack_tar(folder, tmp_path / f"{inner}-binary.tar.gz", lambda files: sorted(files, reverse=True))
    source = load(name, {"folder": folder.parent, "direct": folder, "archive": tmp_path}[form])
    assert source.train.x.shape == (10, 3, 32, 32)
    assert source.train.y.tolist() == list(range(10))
    assert source.train.x[:, 0, 1, 0].tolist() == list(range(10))
    assert source.train.x[4, :, 31, 31].tolist() == [4, 104, 200]
    assert source.train.x[4, 0, 0].tolist() == [255] * 32
    assert source.test.x[:, 1, 0, 0].tolist() == [150, 151, 152]
    assert source.test.y.tolist() == ([0, 1, 2] if ten else [50, 51, 52])
    assert (source.train.x.dtype, source.train.y.dtype) == (torch.uint8, torch.int64)
    assert (source.name, source.classes, source.pixels) == (name, 10 if ten else 100, pixels)


@pytest.mark.parametrize(
    ("name", "file", "harm", "words"),
    [
        ("cifar10", "data_batch_3.bin", lambda f: cut(f, 3072), ("is cut short", "3,073")),
        ("cifar10", "data_batch_3.bin", lambda f: cut(f, 0), ("is cut short",)),
        ("cifar10", "data_batch_3.bin", lambda f: cut(f, 3073), ("cut short", "1 images", "2")),
        ("cifar10", "test_batch.bin", lambda f: spoil(f, 3073, 10), ("damaged", "label 1 is 10")),
        ("cifar10", "data_batch_5.bin", lambda f: f.unlink(), ("is missing",)),
        ("cifar100", "train.bin", lambda f: cut(f, -1), ("is cut short", "3,074")),
        ("cifar100", "train.bin", lambda f: spoil(f, 1, 100), ("damaged", "label 0 is 100")),
        ("cifar100", "train.bin", lambda f: spoil(f, 0, 20), ("damaged", "label 0 is 20")),
        ("cifar100", "test.bin", lambda f: f.unlink(), ("is missing",)),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_broken_cifar_file_is_named(
    packed: bool, name: str, file: str, harm: Callable[[Path], None], words: tuple[str, ...], tmp_path: Path
) -> None:
    inner = {"cifar10": "cifar-10-batches-bin", "cifar100": "cifar-100-binary"}[name]
    folder = write_cifar(name, tmp_path / "w" / inner)
    harm(folder / file)
    if packed:
        archive = pack_tar(folder, tmp_path / {"cifar10": "cifar-10", "cifar100": "cifar-100"}[name])
        archive = archive.rename(f"{archive}-binary.tar.gz")
        fails(name, tmp_path, f"{file} in {archive}", *words)
    else:
        fails(name, folder.parent, str(folder / file), *words)


@pytest.mark.parametrize(
    ("name", "inner", "batch", "test_file"),
    [
        ("cifar10", "cifar-10-batches-bin", 10_000, "test_batch.bin"),
        ("cifar100", "cifar-100-binary", 50_000, "test.bin"),
    ],
)
def test_a_full_training_set_wants_the_full_test_set(
    name: str, inner: str, batch: int, test_file: str, tmp_path: Path
) -> None:
    folder = write_cifar(name, tmp_path / inner, 1, 1)
    for file in folder.iterdir():  # zero bytes up to that many records, which costs no disk
        os.truncate(file, RECORD[name] * (9_999 if file.name == test_file else batch))
    fails(name, tmp_path, str(folder / test_file), "9,999", "10,000")
    os.truncate(folder / test_file, RECORD[name] * 10_000)
    assert len(load(name, tmp_path).test) == 10_000


@pytest.mark.parametrize("end", [0, 15, 300, -20])
def test_a_broken_tar_archive_is_named(end: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    for file in ("train.bin", "test.bin"):  # noise, so that the archive is long enough to cut anywhere
        records = rng.integers(0, 20, (5, 3074), np.uint8)
        records.tofile(folder / file)
    (tmp_path / "d").mkdir()
    archive = pack_tar(folder, tmp_path / "d" / "cifar-100-binary.tar.gz")
    assert len(load("cifar100", tmp_path / "d").train) == 5
    cut(archive, end)
    fails("cifar100", tmp_path / "d", str(archive), "cut short or damaged")


def test_the_archive_itself_may_be_named_but_no_other_file(tmp_path: Path) -> None:
    archive = pack_tar(write_cifar("cifar100", tmp_path / "w"), tmp_path / "cifar-100-binary.tar.gz")
    assert len(load("cifar100", archive).train) == 2
    fails("cifar10", archive, "`heteroselect data cifar10", f"is not in {archive}")


def test_a_flipped_byte_in_a_tar_archive_is_found(tmp_path: Path) -> None:
    folder = write_cifar("cifar100", tmp_path / "w" / "cifar-100-binary")
    archive = pack_tar(folder, tmp_path / "cifar-100-binary.tar.gz")
    plain = gzip.decompress(archive.read_bytes())
    stored = bytearray(gzip.compress(plain, compresslevel=0))
    pixel = stored.index(bytes([255] * 32)) + 3  # still a valid archive of valid records, but for its checksum
    stored[pixel] = 254
    archive.write_bytes(stored)
    fails("cifar100", tmp_path, str(archive), "cut short or damaged", "CRC")


def test_an_unreadable_file_is_no_damaged_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_cifar("cifar100", tmp_path / "cifar-100-binary")

    def refuse(file: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(file))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    fails("cifar100", tmp_path, f"{folder / 'train.bin'} cannot be read: Permission denied.")


# ── Tiny-ImageNet ──


def jpeg(colour: tuple[int, int, int] | int, side: int = 64) -> bytes:
    """A JPEG of one colour, which the format keeps to within a step or two; a single number makes it grey."""
    out = io.BytesIO()
    mode = "L" if isinstance(colour, int) else "RGB"
    Image.new(mode, (side, side), colour).save(out, "JPEG", quality=95)
    return out.getvalue()


TINY = {
    "wnids.txt": b"n02\nn01\n",
    "words.txt": b"n01\tone\nn02\ttwo\n",
    "train/n01/images/n01_0.JPEG": jpeg((255, 0, 0)),
    "train/n01/images/n01_1.JPEG": jpeg(90),
    "train/n01/n01_boxes.txt": b"n01_0.JPEG\t0\t0\t62\t62\n",
    "train/n02/images/n02_0.JPEG": jpeg((0, 0, 255)),
    "train/n02/images/._n02_0.JPEG": b"what some systems leave beside a file",
    "val/images/val_0.JPEG": jpeg((0, 255, 0)),
    "val/images/val_1.JPEG": jpeg(7),
    "val/images/val_2.JPEG": jpeg((255, 255, 255)),
    "val/val_annotations.txt": b"val_2.JPEG\tn01\t0\t9\nval_0.JPEG\tn02\t0\t9\nval_1.JPEG\tn01\t0\t9\n",
    "test/images/test_0.JPEG": b"not read",
}


def write_tiny(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        file = folder / "tiny-imagenet-200" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder / "tiny-imagenet-200"


def zip_tiny(archive: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("tiny-imagenet-200/", b"")
        for name, data in files.items():
            out.writestr(f"tiny-imagenet-200/{name}", data)
    return archive


@pytest.mark.parametrize("form", ["folder", "direct", "tiny-imagenet-200.zip", "tiny-imagenet-200-subset.zip"])
def test_tinyimagenet_in_every_form(form: str, tmp_path: Path) -> None:
    folder = write_tiny(tmp_path / "w", TINY)
    if form.endswith(".zip"):
        zip_tiny(tmp_path / form, TINY)
    source = load("tinyimagenet", {"folder": folder.parent, "direct": folder}.get(form, tmp_path))
    assert source.train.x.shape == (3, 3, 64, 64)
    assert source.train.y.tolist() == [0, 1, 1]  # wnids.txt puts n02 first
    right = torch.tensor([[0, 0, 255], [255, 0, 0], [90, 90, 90]])
    assert (source.train.x[:, :, 63, 0].int() - right).abs().max() <= 3
    assert source.test.y.tolist() == [1, 0, 1]  # in the order of the annotations
    right = torch.tensor([[255, 255, 255], [0, 255, 0], [7, 7, 7]])
    assert (source.test.x[:, :, 0, 63].int() - right).abs().max() <= 3
    assert (source.train.x.dtype, source.train.y.dtype) == (torch.uint8, torch.int64)
    assert (source.name, source.classes) == ("tinyimagenet", 200)
    assert source.pixels == Pixels((0.4802, 0.4481, 0.3975), (0.2770, 0.2691, 0.2821), augment=True)


def test_tinyimagenet_without_its_class_list_numbers_the_folders_in_order(tmp_path: Path) -> None:
    write_tiny(tmp_path, {name: data for name, data in TINY.items() if name != "wnids.txt"})
    assert load("tinyimagenet", tmp_path).train.y.tolist() == [0, 0, 1]


TRAIN_IMAGE = "train/n01/images/n01_0.JPEG"


@pytest.mark.parametrize(
    ("file", "data", "words"),
    [
        (TRAIN_IMAGE, TINY[TRAIN_IMAGE][:400], ("cut short or damaged",)),
        (TRAIN_IMAGE, b"", ("cut short or damaged",)),
        ("val/images/val_1.JPEG", jpeg(7, 63), ("63×63", "64×64")),
        ("val/images/val_1.JPEG", None, ("is missing",)),
        ("val/val_annotations.txt", None, ("is missing",)),
        ("val/val_annotations.txt", b"", ("is cut short", "0 lines", "3 images")),
        ("val/val_annotations.txt", b"val_0.JPEG\tn02\n", ("is cut short", "1 lines", "3 images")),
        ("val/val_annotations.txt", b"val_0.JPEG\n", ("cut short or damaged",)),
        ("val/val_annotations.txt", b"\xff\xfe", ("cut short or damaged",)),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_broken_tinyimagenet_file_is_named(
    packed: bool, file: str, data: bytes | None, words: tuple[str, ...], tmp_path: Path
) -> None:
    files = {name: old for name, old in TINY.items() if name != file} | ({file: data} if data is not None else {})
    if packed:
        archive = zip_tiny(tmp_path / "tiny-imagenet-200.zip", files)
        fails("tinyimagenet", tmp_path, f"{file} in {archive}", *words)
    else:
        fails("tinyimagenet", tmp_path, str(write_tiny(tmp_path, files) / file), *words)


def test_tinyimagenet_classes_without_images_and_images_without_a_class_are_named(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path, TINY)
    (folder / "wnids.txt").write_text("n01 n02 n03")
    fails("tinyimagenet", tmp_path, str(folder / "train/n03/images"), "is missing")
    (folder / "wnids.txt").write_text("n01")
    fails("tinyimagenet", tmp_path, str(folder / "train/n02/images/n02_0.JPEG"), "n02", "wnids.txt")
    (folder / "wnids.txt").unlink()
    (folder / "val/val_annotations.txt").write_text("")
    for image in folder.glob("val/images/*"):
        image.unlink()
    fails("tinyimagenet", tmp_path, str(folder / "val/val_annotations.txt"), "0 lines for 0 images")
    write_tiny(tmp_path, {name: data for name, data in TINY.items() if name.startswith("val/")})
    for image in folder.glob("train/*/images/*"):
        image.unlink()
    fails("tinyimagenet", tmp_path, str(folder / "train"), "is missing")


def test_more_classes_than_tinyimagenet_has_are_refused(tmp_path: Path) -> None:
    many = {f"train/m{n:03}/images/m.JPEG": TINY[TRAIN_IMAGE] for n in range(199)}
    folder = write_tiny(tmp_path, {k: v for k, v in (TINY | many).items() if k != "wnids.txt"})
    fails("tinyimagenet", tmp_path, str(folder / "train/n02/images/n02_0.JPEG"), "200")


@pytest.mark.parametrize("end", [0, 1000, -1])
def test_a_cut_zip_archive_is_named(end: int, tmp_path: Path) -> None:
    archive = zip_tiny(tmp_path / "tiny-imagenet-200.zip", TINY)
    cut(archive, end)
    fails("tinyimagenet", tmp_path, str(archive), "cut short or damaged")


def test_a_flipped_byte_in_a_zip_archive_is_found(tmp_path: Path) -> None:
    archive = zip_tiny(tmp_path / "tiny-imagenet-200.zip", TINY)
    at = archive.read_bytes().index(TINY[TRAIN_IMAGE])
    spoil(archive, at + 300, archive.read_bytes()[at + 300] ^ 1)
    fails("tinyimagenet", tmp_path, f"{TRAIN_IMAGE} in {archive}", "cut short or damaged")


# ── .npz ──


def npz(folder: Path, **arrays: Any) -> str:
    np.savez(folder / "own.npz", **arrays)
    return str(folder / "own.npz")


def test_an_npz_without_a_test_part_is_split_by_its_seed(tmp_path: Path) -> None:
    name = npz(tmp_path, x=np.arange(40.0).reshape(20, 2), y=np.arange(20) % 4)
    source = load(name, None, test_fraction=0.25, seed=3)
    assert (len(source.train), len(source.test)) == (15, 5)
    rows = [int(row[0]) // 2 for part in (source.train, source.test) for row in part.x]
    assert sorted(rows) == list(range(20))
    assert [row % 4 for row in rows] == [*source.train.y.tolist(), *source.test.y.tolist()]
    assert (source.train.x.dtype, source.train.y.dtype) == (torch.float32, torch.int64)
    assert (source.name, source.classes, source.pixels) == (name, 4, None)
    again, other = (load(name, None, test_fraction=0.25, seed=seed).test.x for seed in (3, 4))
    assert torch.equal(again, source.test.x)
    assert not torch.equal(other, source.test.x)


def test_an_npz_brings_its_own_test_part_and_classes_count_over_both(tmp_path: Path) -> None:
    name = npz(tmp_path, x_train=[[1], [2]], y_train=[0, 1], x_test=[[3]], y_test=[6])
    source = load(name, None)
    assert source.train.x.tolist() == [[1], [2]]
    assert source.train.x.dtype == torch.int64
    assert (source.test.x.tolist(), source.test.y.tolist(), source.classes) == ([[3]], [6], 7)


def test_targets_that_are_not_class_numbers_stay_numbers(tmp_path: Path) -> None:
    source = load(npz(tmp_path, x=np.eye(4), y=[0.5, -1.0, 2.0, 3.0]), None)
    assert source.classes is None
    assert source.train.y.dtype == torch.float32


@pytest.mark.parametrize(
    ("shape", "becomes"),
    [
        ((4, 5, 6), (1, 5, 6)),
        ((4, 5, 6, 3), (3, 5, 6)),
        ((4, 5, 6, 1), (1, 5, 6)),
        ((4, 3, 5, 6), (3, 5, 6)),
        ((4, 1, 5, 6), (1, 5, 6)),
        ((4, 2, 5, 6), (2, 5, 6)),
        ((4, 3, 5, 3), (3, 5, 3)),
    ],
)
def test_images_of_an_npz_become_channels_first(
    shape: tuple[int, ...], becomes: tuple[int, ...], tmp_path: Path
) -> None:
    x = np.arange(np.prod(shape)).astype(np.uint8).reshape(shape)
    source = load(npz(tmp_path, x=x, y=np.arange(4), x_test=x, y_test=np.arange(4)), None)
    assert source.train.x.shape == (4, *becomes)
    assert source.train.x.dtype == torch.uint8
    half = (0.5,) * becomes[0]
    assert source.pixels == Pixels(half, half, augment=False)
    last = x[2, 1, 2, 0] if shape[-1] in (1, 3) and shape[1] == 5 else x.reshape(4, *becomes)[2, 0, 1, 2]
    assert source.train.x[2, 0, 1, 2] == last


def test_an_npz_is_also_found_by_its_name_in_the_data_folder(tmp_path: Path) -> None:
    npz(tmp_path, x=np.zeros((5, 1)), y=np.arange(5))
    assert len(load("own.npz", tmp_path).train) == 4


GOOD = {"x": np.zeros((4, 2)), "y": np.arange(4)}


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": GOOD["x"]}, ("x and y",)),
        ({"inputs": GOOD["x"], "labels": GOOD["y"]}, ("x and y",)),
        (GOOD | {"x_test": GOOD["x"]}, ("x_test with y_test",)),
        (GOOD | {"y": np.arange(3)}, ("as many x as y", "(4, 2)", "(3,)")),
        ({"x": np.zeros((0, 2)), "y": np.arange(0)}, ("at least one",)),
        ({"x": 1.0, "y": 1}, ("at least one",)),
        (GOOD | {"y": [0, 1, -1, 2]}, ("y in", "from 0 upwards")),
        (GOOD | {"y": [[0], [1], [1], [2]]}, ("y in", "one class number")),
        (GOOD | {"y": ["a", "b", "c", "d"]}, ("y in", "must hold numbers", "<U1")),
        (GOOD | {"x": np.array([[None]] * 4)}, ("cut short or damaged", "allow_pickle=False")),
        (GOOD | {"x": np.array([[0.0, np.nan]] * 4)}, ("x in", "finite")),
        (GOOD | {"x": np.array([[0.0, 1e300]] * 4)}, ("x in", "finite")),
        (GOOD | {"x": np.zeros((4, 28, 28, 4), np.uint8)}, ("x in", "(4, 28, 28, 4)", "(n, c, h, w)")),
        (GOOD | {"x_test": np.zeros((4, 3)), "y_test": np.arange(4)}, ("the test part of", "its x")),
        (GOOD | {"x_test": np.zeros((4, 2), int), "y_test": np.arange(4)}, ("the test part of", "its x")),
        (GOOD | {"x_test": np.zeros((4, 2)), "y_test": np.zeros(4)}, ("the test part of", "its y")),
        ({"x": np.zeros((1, 2)), "y": [0]}, ("one example", "two are needed")),
    ],
)
def test_an_unusable_npz_is_named(arrays: dict[str, Any], words: tuple[str, ...], tmp_path: Path) -> None:
    name = npz(tmp_path, **arrays)
    fails(name, None, name, *words)


def test_an_npz_that_is_not_there_or_is_none_is_named(tmp_path: Path) -> None:
    fails(str(tmp_path / "absent.npz"), None, str(tmp_path / "absent.npz"), "no such file")
    file = Path(npz(tmp_path, **GOOD))
    cut(file, -30)
    fails(str(file), None, str(file), "no .npz file")
    with file.open("wb") as out:
        np.save(out, np.zeros(3))
    fails(str(file), None, str(file), "no .npz file")


@pytest.mark.parametrize("name", ["people.npz", "people.csv"])
def test_a_pipe_in_the_place_of_data_keeps_nobody_waiting(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    fails(str(tmp_path / name), None, "there is no such file")


def test_a_table_that_is_larger_than_memory_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "people.csv").open("wb") as file:
        file.truncate(10**13)  # which takes no place on the disk
    fails(
        str(tmp_path / "people.csv"),
        None,
        "is too large: it has 10,000,000,000,000 bytes",
        "are read at most; make it smaller",
    )


def test_a_damaged_npz_is_named(tmp_path: Path) -> None:
    file = Path(npz(tmp_path, x=np.full((50, 2), 0.1), y=np.arange(50)))
    spoil(file, 400, 0xAA)
    fails(str(file), None, str(file), "cut short or damaged")


def test_an_npz_that_pretends_to_hold_more_than_it_has_is_refused_by_its_header(tmp_path: Path) -> None:
    file, header = tmp_path / "bomb.npz", io.BytesIO()
    shape = {"descr": "<f4", "fortran_order": False, "shape": (10_000_000, 784)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("x.npy", "y.npy"):
            archive.writestr(name, header.getvalue() + bytes(100))
    fails(str(file), None, str(file), "says that it has 31,360,000,000 bytes")


def test_an_npz_that_is_small_and_holds_more_than_half_of_the_memory_is_refused(tmp_path: Path, monkeypatch) -> None:
    file = tmp_path / "bomb.npz"
    np.savez_compressed(file, x=np.zeros((1000, 100)), y=np.zeros(1000, int))
    assert file.stat().st_size < 10_000
    monkeypatch.setattr("heteroselect.data.own_files.memory", lambda: 1_000_000)
    fails(str(file), None, str(file), "more than half of this machine's memory, 500,000")


# ── the published pixels ──


@pytest.mark.skipif(not (SHARED / "cifar10").is_dir(), reason="the published CIFAR-10 images are not here")
def test_published_cifar_images_survive_the_way_through_the_binary_layout(tmp_path: Path) -> None:
    mosaic = np.asarray(Image.open(SHARED / "cifar10" / "test-00.webp").convert("RGB"))
    labels = np.fromfile(SHARED / "cifar10" / "test-labels.u8", np.uint8)[:1000]
    tiles = [mosaic[i // 40 * 32 :, i % 40 * 32 :][:32, :32] for i in range(1000)]
    records = [bytes([label]) + tile.transpose(2, 0, 1).tobytes() for tile, label in zip(tiles, labels, strict=True)]
    for number in range(5):
        (tmp_path / f"data_batch_{number + 1}.bin").write_bytes(b"".join(records[number * 200 : (number + 1) * 200]))
    (tmp_path / "test_batch.bin").write_bytes(b"".join(records[:10]))
    source = load("cifar10", tmp_path)
    assert torch.equal(source.train.x, torch.from_numpy(np.stack(tiles)).permute(0, 3, 1, 2))
    assert source.test.y.tolist() == [3, 8, 8, 0, 6, 6, 1, 6, 3, 1]  # a cat, two ships, an aeroplane …


@pytest.mark.slow
@pytest.mark.skipif(
    not (SHARED / "tiny-imagenet-200-subset.zip").is_file(), reason="the Tiny-ImageNet subset is not here"
)
def test_the_subset_of_tinyimagenet_is_read_whole() -> None:
    source = load("tinyimagenet", SHARED)
    assert source.train.y.bincount().tolist() == [50] * 200
    assert source.test.y.bincount().tolist() == [10] * 200
    with zipfile.ZipFile(SHARED / "tiny-imagenet-200-subset.zip") as archive:
        wnid = archive.read("tiny-imagenet-200/wnids.txt").decode().split()[7]
        data = archive.read(f"tiny-imagenet-200/train/{wnid}/images/{wnid}_0.JPEG")
    right = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    assert torch.equal(source.train.x[7 * 50], torch.from_numpy(right.copy()).permute(2, 0, 1))
