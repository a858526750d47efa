"""A data set is downloaded whole or not at all: a half-written archive must never pass for a data set.

Bytes go to a temporary file beside the target, are compared with the size and checksum of the published
file, and only then take the target's name.
"""

import hashlib
import os
import secrets
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from heteroselect.data.sources import installed_mnist
from heteroselect.errors import DataError

Progress = Callable[[int, int], None]

CHUNK = 1 << 18
SECURE: tuple[str, ...] = ("https://",)
PATIENCE = 30.0  # seconds without a byte after which a server counts as gone


@dataclass(frozen=True)
class Archive:
    """A file as its publisher has it."""

    url: str
    size: int
    sha256: str

    @property
    def file(self) -> str:
        return self.url.rpartition("/")[2]


_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"  # PyTorch's mirror: the publishers' own page offers none

PUBLISHED: Mapping[str, tuple[Archive, ...]] = {
    "mnist": tuple(
        Archive(f"{_MNIST}{file}-ubyte.gz", size, sha256)
        for file, size, sha256 in (
            ("train-images-idx3", 9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
            ("train-labels-idx1", 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
            ("t10k-images-idx3", 1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
            ("t10k-labels-idx1", 4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
        )
    ),
    "cifar10": (
        Archive(
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            170_052_171,
            "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        ),
    ),
    "cifar100": (
        Archive(
            "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
            168_513_733,
            "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
        ),
    ),
    "tinyimagenet": (
        Archive(
            "https://cs231n.stanford.edu/tiny-imagenet-200.zip",
            248_100_043,
            "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
        ),
    ),
}
"""The files of each data set, as they are published."""


class _FailureError(Exception):
    """Why a download failed, as the middle of a sentence."""


def fetch(name: str, folder: Path, *, url: str | None = None, progress: Progress | None = None) -> Path:
    """The published archive of a data set in `folder`, downloaded unless it is there already (then it is checked).

    `url` is another address of the same file; `progress` is called with the bytes so far and in all. MNIST is a folder
    of four files, that of heteroselect-mnist where it is installed, and its `url` is the address of such a folder.
    """
    if name == "mnist" and (installed := installed_mnist()):
        return installed
    if name not in PUBLISHED:
        raise DataError(f"{name!r} cannot be downloaded: choose from {', '.join(PUBLISHED)}.")
    archives, before = PUBLISHED[name], 0
    total, several = sum(archive.size for archive in archives), len(archives) > 1
    folder = folder / name if several else folder
    for archive in archives:
        address = archive.url if url is None else f"{url.rstrip('/')}/{archive.file}" if several else url
        watch = (lambda done, _, so_far=before: progress(so_far + done, total)) if progress else None
        _fetched(name, archive, folder, address, watch)
        before += archive.size
    return folder if several else folder / archives[0].file


def _fetched(name: str, archive: Archive, folder: Path, address: str, progress: Progress | None) -> None:
    target = folder / archive.file
    try:
        if target.exists():
            return _verify(target, archive)
        folder.mkdir(parents=True, exist_ok=True)
        return _download(address, target, archive, progress)
    except _FailureError as failure:
        reason = str(failure)
    except OSError as problem:  # of the disk: those of the network arrive as _FailureError
        reason = f"{folder} cannot be read or written ({problem.strerror or problem})"
    raise DataError(
        f"The download of {name} failed because {reason}: nothing was kept, so try again or put "
        f"{archive.file} from {address} into {folder} by hand."
    )


def _verify(target: Path, archive: Archive) -> None:
    fault = _fault(target, archive) if target.is_file() else "it is no file"
    if fault:
        raise DataError(
            f"{target} is already there but is not the published file ({fault}): "
            "it was left as it is, so move or delete it to download it again."
        )


def _fault(file: Path, archive: Archive) -> str | None:
    """What is wrong with a file, if anything."""
    size = file.stat().st_size
    if size != archive.size:
        return f"it has {size:,} bytes instead of {archive.size:,}"
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    return None if found == archive.sha256 else f"its SHA-256 is {found} instead of {archive.sha256}"


def _download(address: str, target: Path, archive: Archive, progress: Progress | None) -> None:
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as out, closing(_chunks(address, archive.size)) as chunks:
            for chunk in chunks:
                out.write(chunk)
                if progress:
                    progress(out.tell(), archive.size)
            out.flush()
            os.fsync(out.fileno())  # some disks admit only now that they are full
        if fault := _fault(part, archive):
            raise _FailureError(f"the file received is not the published one ({fault})")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _refuse_open(address: str) -> None:
    if not address.startswith(SECURE):
        raise _FailureError(f"{address} is not secure; name one of https")


def _chunks(address: str, size: int) -> Generator[bytes, None, None]:
    """The `size` bytes at an address. Whatever goes wrong on the way is a _FailureError."""
    done = 0
    try:
        _refuse_open(address)
        with urllib.request.urlopen(address, timeout=PATIENCE) as response:
            _refuse_open(response.url)  # where it was sent on to
            offered = int(response.headers.get("Content-Length") or size)
            if offered != size:
                raise _FailureError(f"the server offers {offered:,} bytes instead of {size:,}")
            while done < size and (chunk := response.read(min(CHUNK, size - done))):
                done += len(chunk)
                yield chunk
    except urllib.error.HTTPError as problem:
        problem.close()
        raise _FailureError(f"the server answered {problem.code} {problem.reason}") from problem
    except urllib.error.URLError as problem:
        raise _FailureError(f"{address} cannot be reached ({problem.reason})") from problem
    except (OSError, HTTPException, ValueError) as problem:
        raise _FailureError(f"the connection broke after {done:,} of {size:,} bytes ({problem})") from problem
    if done < size:
        raise _FailureError(f"the connection was cut after {done:,} of {size:,} bytes")
