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

from heteroselect.data.sources import package_mnist
from heteroselect.errors import HeteroSelectError

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


ARCHIVES: Mapping[str, Archive] = {
    "cifar10": Archive(
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        170_052_171,
        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    ),
    "cifar100": Archive(
        "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
        168_513_733,
        "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
    ),
    "tinyimagenet": Archive(
        "https://cs231n.stanford.edu/tiny-imagenet-200.zip",
        248_100_043,
        "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
    ),
}


class _FailureError(Exception):
    """Why a download failed, as the middle of a sentence."""


def fetch(
    name: str,
    folder: Path,
    *,
    url: str | None = None,
    progress: Progress | None = None,
    archive: Archive | None = None,
) -> Path:
    """The published archive of a data set in `folder`, downloaded unless it is there already.

    `url` is another address of the same file; `progress` is called with the bytes so far and in all.
    MNIST ships with the package: nothing is downloaded and the package's own folder is returned.
    """
    if name == "mnist":
        return package_mnist()
    archive = archive or ARCHIVES.get(name)
    if archive is None:
        raise HeteroSelectError(f"{name!r} cannot be downloaded: choose from mnist, {', '.join(ARCHIVES)}.")
    target, address = folder / archive.file, url or archive.url
    try:
        if target.exists():
            return _verified(target, archive)
        folder.mkdir(parents=True, exist_ok=True)
        _download(address, target, archive, progress)
    except _FailureError as failure:
        reason = str(failure)
    except OSError as problem:  # of the disk: those of the network arrive as _FailureError
        reason = f"{folder} cannot be read or written ({problem.strerror or problem})"
    else:
        return target
    raise HeteroSelectError(
        f"The download of {name} failed because {reason}: nothing was kept, so try again or put "
        f"{archive.file} from {address} into {folder} by hand."
    )


def _verified(target: Path, archive: Archive) -> Path:
    fault = _fault(target, archive) if target.is_file() else "it is no file"
    if fault:
        raise HeteroSelectError(
            f"{target} is already there but is not the published file ({fault}): "
            "it was left as it is, so move or delete it to download it again."
        )
    return target


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
        raise _FailureError(f"{address} is not secure, and allowed is https")


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
