"""The place of a run: made and locked for one process at a time, and no link in it."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from heteroselect.errors import HeteroSelectError
from heteroselect.runs.folder import WORK, as_user_error


def refuse_links(path: Path) -> None:
    """A run folder may come from anybody: nothing in it may lead out of it to where things would be written or deleted.
    (What Flower's processes left behind is removed first, which follows no links, and looked at then.)"""
    with as_user_error(path):
        for folder, inside, files in os.walk(path, onerror=_refuse):
            for name in (*inside, *files):
                if (Path(folder) / name).is_symlink():
                    raise HeteroSelectError(f"resume: {Path(folder) / name} is a link; allowed are files of the run.")
            if Path(folder) == path and WORK in inside:
                inside.remove(WORK)


def _refuse(error: OSError) -> None:
    """A folder that cannot be looked into may still be one to write into. (One that is gone, as where a node has just
    tidied its memory, is not.)"""
    if not isinstance(error, FileNotFoundError):
        raise error


@contextlib.contextmanager
def locked(path: Path, who: str = "resume") -> Iterator[None]:
    """No second process works in the folder meanwhile; the lock goes with the process, however that ends."""
    with as_user_error(path):
        handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise HeteroSelectError(f"{who}: another process is at work in {path}; wait for it to end.") from error
        with as_user_error(path):
            if not os.path.samestat(os.fstat(handle), path.stat()):  # whoever was here before has removed it
                raise FileNotFoundError(errno.ENOENT, "another process has just removed it")
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def made(path: Path) -> Iterator[None]:
    """A folder for a new run, made where there is none, in which no other process works meanwhile."""
    with as_user_error(path):
        path.mkdir(parents=True, exist_ok=True)
    with locked(path, "--out"):
        yield
