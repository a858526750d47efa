"""Ends what a command has started when the command is gone, however it went, and removes the folder it had for that.

It runs as a program of its own that needs nothing but Python. From its standard input it reads the run's mark and the
folder, and then waits for the end of that input: the kernel closes the other end of a pipe for a process that was
killed, too.
"""

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

MARK = "HETEROSELECT_FLOWER_RUN"
TRIES = 6  # what is being started while it looks is found the next time


def exists(pid: int) -> bool:
    """Whether a process is there; one that has ended and was not waited for yet is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def left(mark: str) -> list[int]:
    """All processes that carry the mark."""
    found, text = [], f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if text in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def end(pids: Sequence[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 10
    while any(exists(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.05)


def clean_up(mark: str, scratch: Path) -> None:
    """End all that carries the mark, and remove the folder."""
    for _ in range(TRIES):
        pids = left(mark)
        if not pids:
            break
        end(pids)
    shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    mark, scratch = (sys.stdin.readline().strip("\n") for _ in range(2))
    sys.stdin.read()
    if mark and scratch:
        clean_up(mark, Path(scratch))
