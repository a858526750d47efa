"""Hosts on this machine, joined to a server by links of chosen rates: network namespaces with virtual cables.

It needs root and iproute2. The hosts are its own and nothing leaves them; they have addresses of the block for
documentation. `make sim-to-real` runs Flower on them.
"""

import contextlib
import math
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

SERVER = "heteroselect-server"
BURST = 4096  # bytes that may go at once: little beside any upload
WAITING = 0.4  # seconds of traffic that wait in front of a link
PACKETS = 20  # that wait there at least: of a slow link some seconds of traffic


class UnavailableError(Exception):
    """Namespaces cannot be made here; the message says why."""


@dataclass(frozen=True)
class Link:
    """Rates in bit/s towards the server and from it; infinite: as fast as the machine is."""

    up: float
    down: float = math.inf


@dataclass(frozen=True)
class Host:
    """A host at the end of a link, and the address at which it finds the server."""

    place: int

    @property
    def name(self) -> str:
        return f"heteroselect-node{self.place}"

    @property
    def server(self) -> str:
        return f"192.0.2.{4 * self.place + 1}"

    @property
    def own(self) -> str:
        return f"192.0.2.{4 * self.place + 2}"

    @property
    def at_server(self) -> str:
        """The server's end of its link."""
        return f"hs{self.place}"

    @property
    def at_host(self) -> str:
        return f"hsn{self.place}"

    @property
    def prefix(self) -> list[str]:
        """The command that starts another on this host."""
        return inside(self.name)


def inside(name: str) -> list[str]:
    return ["ip", "netns", "exec", name]


@contextlib.contextmanager
def joined(count: int) -> Iterator[list[Host]]:
    """A server and so many hosts, each with a link of its own to it, for as long as the context lasts; UnavailableError
    where that cannot be."""
    if not shutil.which("ip") or not shutil.which("tc"):
        raise UnavailableError("ip and tc are not installed (Debian's iproute2)")
    hosts = [Host(place) for place in range(count)]
    with contextlib.ExitStack() as made:
        for name in (SERVER, *(host.name for host in hosts)):
            try:
                _run("ip", "netns", "add", name)
            except subprocess.CalledProcessError as error:
                raise UnavailableError(
                    f"network namespaces cannot be made here: {error.stderr.decode().strip()}"
                ) from error
            made.callback(_remove, name)
            _run("ip", "-n", name, "link", "set", "lo", "up")
        for host in hosts:
            _join(host)
        yield hosts


def shape(host: Host, link: Link) -> None:
    """Give the link of a host other rates, from now on."""
    for name, device, rate in ((SERVER, host.at_server, link.down), (host.name, host.at_host, link.up)):
        place = ["tc", "-n", name, "qdisc", "replace", "dev", device, "root"]
        if math.isfinite(rate):
            queue = BURST + max(rate / 8 * WAITING, PACKETS * 1514)
            _run(*place, "tbf", "rate", f"{rate:.0f}bit", "burst", BURST, "limit", f"{queue:.0f}")
        else:
            _run(*place, "pfifo")


def _join(host: Host) -> None:
    ends = ((SERVER, host.at_server, host.server), (host.name, host.at_host, host.own))
    (_, here, _), (_, there, _) = ends
    _run("ip", "link", "add", here, "netns", SERVER, "type", "veth", "peer", "name", there, "netns", host.name)
    for name, device, address in ends:
        _run("ip", "-n", name, "addr", "add", f"{address}/30", "dev", device)
        _run("ip", "-n", name, "link", "set", device, "up")


def _run(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def _remove(name: str) -> None:
    with contextlib.suppress(subprocess.CalledProcessError):
        _run("ip", "netns", "del", name)
