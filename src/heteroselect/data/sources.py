"""The publishers' file formats end here, so that the rest of the package meets only tensors.

`load` finds a data set in the folders of `data_folders`, as the published folder or as the archive itself
(which is read in memory, never unpacked to disk), and checks every file before believing it: a file that is
cut short, damaged or absent is an error that names it, never a smaller data set.
"""

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from heteroselect.data import HUB
from heteroselect.data.examples import Columns, Pixels, Source
from heteroselect.data.files import Parts, reading
from heteroselect.data.hub import read_hub
from heteroselect.data.images import ANNOTATIONS, read_cifar, read_mnist, read_tiny
from heteroselect.data.own_files import read_npz, read_table
from heteroselect.data.people import FILE, ROLES, read_audiomnist, read_shakespeare
from heteroselect.errors import DataError, SettingError
from heteroselect.extras import installed_files

PLAIN = Columns()
NAMES = ("mnist", "cifar10", "cifar100", "tinyimagenet", "shakespeare", "audiomnist")


def load(
    name: str, folder: Path | None, *, test_fraction: float = 0.2, seed: int = 0, columns: Columns = PLAIN
) -> Source:
    """The data set `name`: one of NAMES, the path of an .npz or .csv file, or hf:NAME.

    `test_fraction` and `seed` matter only to data that has no test part of its own, and `columns` to a user's own.
    """
    if name.startswith(HUB):
        return read_hub(name, columns, test_fraction, seed)
    if name.endswith((".npz", ".csv")):
        read = read_npz if name.endswith(".npz") else read_table
        return read(name, data_folders(folder), columns, test_fraction, seed)
    if name not in _LAYOUTS:
        allowed = f"{', '.join(NAMES)}, {HUB}NAME or a path ending in .npz or .csv"
        raise SettingError(f"data.name is {name!r} but must be one of {allowed}.")
    return _LAYOUTS[name].read(name, _find(name, folder), test_fraction)


def _published(read: Callable[[Path], Parts], classes: int, pixels: Pixels) -> Callable[[str, Path, float], Source]:
    """A reader of a data set whose publishers say what the test part is."""

    def source(name: str, place: Path, _: float) -> Source:
        train, test = _installed(place) if place == installed_mnist() else read(place)
        return Source(name, train, test, classes, pixels)

    return source


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


def installed_mnist() -> Path | None:
    """The files of the distribution heteroselect-mnist; None where it is not there."""
    return installed_files("heteroselect_mnist")


@cache
def _installed(place: Path) -> Parts:
    """MNIST as installed, unpacked once per process: a grid of runs would do it again for each. All runs share these
    tensors, and none writes to them."""
    return read_mnist(place)


def _user_cache() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification asks that a relative path be ignored.
    return (base if base.is_absolute() else Path.home() / ".cache") / "heteroselect"


def _find(name: str, folder: Path | None) -> Path:
    """The first place that holds the data set: a published folder or an archive of one."""
    layout = _LAYOUTS[name]
    for base in data_folders(folder):
        for place in (base / layout.folder, *(base / file for file in layout.archives), base):
            with reading(place):
                archive = place.name in layout.archives and place.is_file()
                if archive or any(any(place.glob(mark)) for mark in layout.marks):
                    return place
    if name == "mnist" and (installed := installed_mnist()):
        return installed
    raise _not_found(name, folder)


def _not_found(name: str, folder: Path | None) -> DataError:
    layout, folders = _LAYOUTS[name], " or ".join(map(str, data_folders(folder)))
    other = "" if folder else ", or into a folder named by --data-dir or HETEROSELECT_DATA"
    if layout.origin:
        return DataError(
            f"The data set {name} is not in {folders}: put {layout.origin} into "
            f"{folder or default_folder()}{other}; docs/data.md says how they are made."
        )
    command = f"heteroselect data {name}" + (f" --data-dir {shlex.quote(str(folder))}" if folder else "")
    files = " or ".join([*layout.archives[:1], f"the folder {layout.folder}"])
    package = "`pip install heteroselect-mnist` brings it, " if name == "mnist" else ""
    return DataError(
        f"The data set {name} is not in {folders}: {package}`{command}` downloads it, "
        f"otherwise put {files} into {folder or default_folder()}{other}."
    )


@dataclass(frozen=True)
class _Layout:
    """What a publisher ships, how to tell that a folder holds it (`marks`), and how to read it.

    Of a data set that nobody publishes as it is read, `origin` names the files and what they are made of.
    """

    folder: str
    archives: tuple[str, ...]
    marks: tuple[str, ...]
    read: Callable[[str, Path, float], Source]
    origin: str = ""


_BATCHES = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
_LAYOUTS = {
    "mnist": _Layout(
        "mnist",
        (),
        ("train-*-ubyte*", "t10k-*-ubyte*"),
        _published(read_mnist, 10, Pixels((0.1307,), (0.3081,), augment=False)),
    ),
    "cifar10": _Layout(
        "cifar-10-batches-bin",
        ("cifar-10-binary.tar.gz",),
        (*_BATCHES, "test_batch.bin"),
        _published(
            partial(read_cifar, _BATCHES, "test_batch.bin", (10,)),
            10,
            Pixels((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010), augment=True),
        ),
    ),
    "cifar100": _Layout(
        "cifar-100-binary",
        ("cifar-100-binary.tar.gz",),
        ("train.bin", "test.bin"),
        _published(
            partial(read_cifar, ("train.bin",), "test.bin", (20, 100)),  # coarse, then fine label
            100,
            Pixels((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761), augment=True),
        ),
    ),
    "tinyimagenet": _Layout(
        "tiny-imagenet-200",
        ("tiny-imagenet-200.zip", "tiny-imagenet-200-subset.zip"),
        ("wnids.txt", ANNOTATIONS, "train/n*/images"),
        _published(read_tiny, 200, Pixels((0.4802, 0.4481, 0.3975), (0.2770, 0.2691, 0.2821), augment=True)),
    ),
    "shakespeare": _Layout(
        "shakespeare",
        (),
        ("shakespeare.txt*", ROLES),
        read_shakespeare,
        "shakespeare.txt.xz and shakespeare-roles.csv (the plays of https://github.com/TheMITTech/shakespeare by role)",
    ),
    "audiomnist": _Layout(
        "audiomnist",
        (),
        (FILE,),
        read_audiomnist,
        "audiomnist.npz (log-mel images of the recordings of https://github.com/soerenab/AudioMNIST)",
    ),
}
