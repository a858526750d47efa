"""Files that are whole or not there, and files of strangers, which may be anything."""

import io
import json
import lzma
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

SMALL, DEEPEST = 4_000_000, 30
"""Bytes of a file that is read as a whole, and how deep it may be nested: far more than is ever written here."""

LOG = 2_000_000_000
"""Bytes of a log, whatever its run and this machine allow: a megabyte of lines takes 0.05 s to read and to check, and
0.1 s where they are built to take long, so that it is a matter of minutes. (The lines of 100,000 clients have a few
megabytes, so that a thousand rounds of these may be longer.)"""


class TooLargeError(ValueError):
    """A file with more bytes than may be read."""


def memory() -> int:
    """Bytes of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def longest_log() -> int:
    """Bytes of a log that can be read here. Its lines take about eight times as much in memory, and may take half of
    it; where there is much of that, what bounds a log is the time that it takes to read."""
    return min(memory() // 16, LOG)


def write_whole(path: Path, content: bytes) -> None:
    """Write all or nothing: a reader never sees half a file, and after a return it is on the disk. A link in its place
    is replaced, never followed."""
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)  # of a process that was killed, or a link that somebody put there
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the new name too
    finally:
        os.close(folder)


def appending(path: Path) -> BinaryIO:
    """A file to write on at its end; a link in its place is not followed."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666), "ab")


@contextmanager
def opened(path: Path, most: int | None = None) -> Iterator[BinaryIO]:
    """A regular file to read from, or ValueError where it is none or has more bytes than `most`."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # a pipe does not keep us waiting
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("it is no file")
        if most is not None and about.st_size > most:
            raise TooLargeError(f"it has {about.st_size:,} bytes, and {most:,} are read at most")
        yield file


class _Bounded(io.RawIOBase):
    """Bytes of a file, or TooLargeError once there were more of them than `most`: what is packed says too late how long
    it is."""

    def __init__(self, file: BinaryIO | lzma.LZMAFile, most: int) -> None:
        self.file, self.most, self.read_so_far = file, most, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self.file.read(len(buffer))
        self.read_so_far += len(found)
        if self.read_so_far > self.most:
            raise TooLargeError(f"it has more than {self.most:,} bytes of text, which is the most that is read")
        buffer[: len(found)] = found
        return len(found)


@contextmanager
def opened_text(path: Path, most: int) -> Iterator[TextIO]:
    """The text of a regular file (`.xz` is unpacked) with its own line ends, or ValueError where it is none or has more
    bytes than `most`, packed or unpacked."""
    with opened(path, most) as file, lzma.LZMAFile(file) if path.suffix == ".xz" else nullcontext(file) as content:
        yield io.TextIOWrapper(io.BufferedReader(_Bounded(content, most)), encoding="utf-8", newline="")


def sweep(folder: Path, ours: re.Pattern[str], *, keep: bool = False) -> None:
    """Remove the files of a folder whose path in it is one that we write, and the folders that are empty then; with
    `keep`, not the folder itself. Links are not followed."""
    if folder.is_symlink():
        return
    for place, inside, names in os.walk(folder, topdown=False):
        links = [name for name in inside if (Path(place) / name).is_symlink()]
        for path in (Path(place) / name for name in (*names, *links)):
            if ours.fullmatch(path.relative_to(folder).as_posix()):
                path.unlink(missing_ok=True)
        if not (keep and Path(place) == folder):
            with suppress(OSError):  # somebody's file is in it
                Path(place).rmdir()


def parse_json(text: str | bytes) -> Any:
    """JSON from anywhere, or ValueError."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_toml(text: str) -> dict[str, Any]:
    """TOML from anywhere, or ValueError."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_json(path: Path) -> Any:
    """What a small file holds, or ValueError."""
    with opened(path, SMALL) as file:
        return _shallow(parse_json(file.read()))


def read_toml(path: Path) -> dict[str, Any]:
    """What a small file holds, or ValueError."""
    with opened(path, SMALL) as file:
        found: dict[str, Any] = _shallow(parse_toml(file.read().decode()))
    return found


def _shallow(whole: Any) -> Any:
    """The value, if it is nested no deeper than DEEPEST: whatever walks through it later ends."""
    level = [whole]
    for _ in range(DEEPEST):
        inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        if not inner:
            return whole
        level = [part for parts in inner for part in parts]
    raise ValueError("it is nested too deeply")
