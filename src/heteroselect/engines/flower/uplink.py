"""How fast a node's uplink is, from the kernel's own counters of its connections to the SuperLink.

Linux counts, for every TCP connection, the bytes that the other side has acknowledged and the time in which any were
on their way (tcpi_bytes_acked and tcpi_busy_time). Their ratio over one upload is what the link carried: it holds no
polling, no waiting, no training and no clock of another machine, it costs no traffic, other programs' connections
do not enter, and TLS does not matter. Only the process that owns the connections can read them, so a SuperNode is
started through this module:

    python -m heteroselect.engines.flower.uplink <the options of flower-supernode>

It writes what it measured to the file named by HETEROSELECT_UPLINK, where the ClientApp picks it up for its answer.
"""

import argparse
import contextlib
import json
import math
import os
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from heteroselect.files import write_whole

FILE = "HETEROSELECT_UPLINK"
LEAST = 50_000  # bytes of a burst that says anything: shorter ones are one round trip, not a rate
PAUSE = 0.25  # seconds between two looks
QUIET = 1.0  # seconds without a byte that end a burst
TICK = 0.01  # seconds: the kernel counts the time in ticks of this order, and what takes none of them took less

_INFO = struct.Struct("@120xQ40xQ")  # bytes acked and time busy in struct tcp_info, which only ever grew at its end


class Counters(NamedTuple):
    """Of one connection: bytes acknowledged, and seconds in which some were on their way."""

    acked: int
    busy: float


@dataclass(frozen=True)
class Uplink:
    """The last burst: how fast it was, and how many there have been (so that none is counted twice)."""

    bits_per_second: float
    number: int

    @staticmethod
    def read(path: Path | None = None) -> "Uplink | None":
        """What is written down at this path, or by the SuperNode that this process was started by."""
        path = path or Path(os.environ.get(FILE, os.devnull))
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(path.read_text(encoding="utf-8"))
            return Uplink(float(found["bits_per_second"]), int(found["number"]))
        return None


class Bursts:
    """From looks at the counters to bursts. Connections side by side share the link: their bytes add up, and their
    times only as far as there was time since the last look."""

    def __init__(self) -> None:
        self.before: dict[str, Counters] = {}
        self.bytes, self.busy, self.number, self.last, self.looked = 0, 0.0, 0, 0.0, -math.inf

    def look(self, began: float, now: float, connections: Mapping[str, Counters]) -> Uplink | None:
        """What the counters are, which were read between `began` and `now` (on a busy machine that takes its time); a
        burst, if one has just ended."""
        pairs = [(counters, self.before.get(name, Counters(0, 0.0))) for name, counters in connections.items()]
        bytes = sum(after.acked - before.acked for after, before in pairs)
        busy = min(sum(after.busy - before.busy for after, before in pairs), now - self.looked)
        self.before, self.looked = dict(connections), began
        if bytes > 0:
            self.bytes, self.busy, self.last = self.bytes + bytes, self.busy + busy, now
        elif now - self.last >= QUIET:
            ended, seconds, self.bytes, self.busy = self.bytes, self.busy, 0, 0.0
            if ended >= LEAST:
                self.number += 1
                return Uplink(8 * ended / max(seconds, TICK), self.number)
        return None


def counters_to(port: int) -> dict[str, Counters]:
    """Of this process's connections to a port."""
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError, ValueError, struct.error):
            target = str(entry.readlink())
            if not target.startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(entry.name))) as copy:
                if copy.family not in (socket.AF_INET, socket.AF_INET6) or copy.getpeername()[1] != port:
                    continue
                info = copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 512)
            acked, busy = _INFO.unpack_from(info)  # of an older kernel's, which is too short, nothing is read
            found[target] = Counters(acked, busy / 1e6)
    return found


def watch(port: int, path: Path, until: Callable[[], bool] = lambda: False) -> None:
    """Look again and again, and write down every burst."""
    bursts = Bursts()
    while not until():
        began, counters = time.monotonic(), counters_to(port)
        burst = bursts.look(began, time.monotonic(), counters)
        if burst is not None:
            write_whole(path, json.dumps(asdict(burst)).encode())
        time.sleep(PAUSE)


def superlink(words: Sequence[str]) -> str:
    """Where flower-supernode is told to connect to, in either way of writing it.

    >>> superlink(["--superlink=a:1"]), superlink(["--superlink", "b:2"]), superlink([])
    ('a:1', 'b:2', '127.0.0.1:8000')
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--superlink", default="127.0.0.1:8000")
    return str(parser.parse_known_args(words)[0].superlink)


def main() -> None:
    """A SuperNode whose uplink is measured."""
    from flwr.supernode.cli.flower_supernode import flower_supernode

    port = int(superlink(sys.argv).rpartition(":")[2])
    if not os.environ.get(FILE):
        os.environ[FILE] = str(Path(tempfile.mkdtemp(prefix="heteroselect-")) / "uplink.json")
    path = Path(os.environ[FILE])
    path.parent.mkdir(parents=True, exist_ok=True)
    threading.Thread(target=watch, args=(port, path), daemon=True, name="uplink").start()
    flower_supernode()


if __name__ == "__main__":
    main()
