"""The devices: seconds per local step, U[0.1, 0.5], drawn once for each client; as they follow from the model; or as
they are known."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.streams import Streams


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
