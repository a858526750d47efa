"""The devices: seconds per local step, drawn once for each client (U[0.1, 0.5]), as they follow from the model, or as
they are known; and tables of devices."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.streams import Streams
from heteroselect.errors import HeteroSelectError
from heteroselect.extras import installed_files

REFERENCE_GFLOP = 0.6
"""Billions of operations of a forward pass of MobileNet V2 (Sandler et al., CVPR 2018: 300 million multiply-adds),
which the `compute_ms` of FedScale's tables were measured on."""


@dataclass(frozen=True)
class Devices:
    """draw: `streams` takes the run's own streams; `authors` repeats the numbers of the authors' runs."""

    low_seconds: float = 0.1
    high_seconds: float = 0.5
    draw: Literal["streams", "authors"] = "streams"

    @property
    def mean(self) -> float:
        return (self.low_seconds + self.high_seconds) / 2

    def step_seconds(self, clients: int, streams: Streams) -> Reals:
        """Seconds per step of each client; the same in every round of a run."""
        if self.draw == "authors":
            return authors_step_seconds(streams.seed, clients, self.low_seconds, self.high_seconds)
        return streams.numpy("devices").uniform(self.low_seconds, self.high_seconds, clients)

    def at(self, ranks: Reals) -> Reals:
        """Seconds per step of devices by their rank among all, from 0, the slowest, to 1."""
        return self.high_seconds - (self.high_seconds - self.low_seconds) * ranks


@dataclass(frozen=True)
class FlopDevices:
    """Devices whose billions of operations per second are drawn once for each client, evenly from `low_gflops` to
    `high_gflops`: a step of a model takes its operations (`step_flops`) divided by them."""

    step_flops: float
    low_gflops: float = 3.0
    high_gflops: float = 30.0

    @property
    def mean(self) -> float:
        """Seconds per step of a device of middling speed."""
        return float(self.at(np.array(0.5)))

    def step_seconds(self, clients: int, streams: Streams) -> Reals:
        """Seconds per step of each client; the same in every round of a run."""
        return self.at(streams.numpy("devices").uniform(size=clients))

    def at(self, ranks: Reals) -> Reals:
        """Seconds per step of devices by their rank among all, from 0, the slowest, to 1."""
        return self.step_flops / ((self.low_gflops + (self.high_gflops - self.low_gflops) * ranks) * 1e9)


@dataclass(frozen=True)
class GivenDevices:
    """Devices whose seconds per step are known, one number per client."""

    seconds: Reals

    @property
    def mean(self) -> float:
        return float(self.seconds.mean())

    def step_seconds(self, clients: int, streams: Streams) -> Reals:
        if len(self.seconds) != clients:
            raise ValueError(f"seconds: allowed is one number for each of the {clients} clients, not {self.seconds}")
        return self.seconds


def authors_step_seconds(seed: int, clients: int, low: float, high: float) -> Reals:
    """The compute times behind the authors' logs; their old generator, made and used here only."""
    return np.random.RandomState((seed + 9999) % 2**32).uniform(low, high, clients)


def phones() -> Path:
    """The table of the distribution heteroselect-phones, 9,242 devices; refused where that is not installed."""
    folder = installed_files("heteroselect_phones")
    if folder is None:
        raise HeteroSelectError(
            "world.table: the table of devices is not installed; `pip install 'heteroselect[phones]'` brings it, or "
            "name a CSV file of your own."
        )
    return folder / "devices.csv.xz"


@dataclass(frozen=True)
class DeviceTable:
    """FLOP/s, bit/s up and bit/s down of some devices, one entry per device; None where the table does not say."""

    flops: Reals | None = None
    up: Reals | None = None
    down: Reals | None = None

    def __len__(self) -> int:
        return max(len(column) for column in (self.flops, self.up, self.down, ()) if column is not None)

    def drawn(self, clients: int, streams: Streams) -> "DeviceTable":
        """The devices of the clients: as many rows as there are clients, drawn without replacement."""
        if clients > len(self):
            raise ValueError(f"allowed is at least a row for each of the {clients} clients, not {len(self)}")
        rows = streams.numpy("device table").permutation(len(self))[:clients]
        flops, up, down = (None if column is None else column[rows] for column in (self.flops, self.up, self.down))
        return DeviceTable(flops, up, down)
