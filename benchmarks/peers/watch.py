"""A job as a process of its own, watched from outside: when it started, and the memory of all that it started."""

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MARK = "PEERS_MARK"  # every process below a job inherits it, also one that has left the tree, as Ray's servers may
PROC = Path("/proc")


@dataclass(frozen=True)
class Watched:
    started: float
    code: int
    output: str
    peak_bytes: int | None
    most_processes: int


def watch(command: Sequence[str], environment: Mapping[str, str], log: Path, limit: float) -> Watched:
    """Run to the end, or for `limit` seconds; whatever is left of it then is ended.

    Looking costs time too, so the next look waits fifty times as long as the last one took.
    """
    mark = f"{MARK}={uuid.uuid4().hex}"
    name, _, value = mark.partition("=")
    peak, most = 0, 0
    with log.open("w+", encoding="utf-8", errors="replace") as out:
        started = time.time()
        process = subprocess.Popen(command, env={**environment, name: value}, stdout=out, stderr=subprocess.STDOUT)
        try:
            while process.poll() is None and time.time() < started + limit:
                began = time.perf_counter()
                sizes = [size for size in map(memory, marked(mark)) if size]
                peak, most = max(peak, sum(sizes)), max(most, len(sizes))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.1, 50 * (time.perf_counter() - began)))
        finally:  # also when the user has had enough
            process.kill()
            code = process.wait()
            for pid in marked(mark):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        out.seek(0)
        return Watched(started, code, out.read(), peak or None, most)


def marked(mark: str) -> list[int]:
    """All processes that carry the mark; none where there is no /proc."""
    found = []
    for folder in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def memory(pid: int) -> int:
    """Proportional set size in bytes: a page shared by n processes counts 1/n in each."""
    with contextlib.suppress(OSError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return 1024 * int(line.split()[1])
    return 0
