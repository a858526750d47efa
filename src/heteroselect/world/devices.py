"""The devices: seconds a local step, U[0.1, 0.5], drawn once for each client."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.arrays import Reals
from heteroselect.streams import Streams


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
        if self.draw == "authors":
            return authors_step_seconds(streams.seed, clients, self.low_seconds, self.high_seconds)
        return streams.numpy("devices").uniform(self.low_seconds, self.high_seconds, clients)


def authors_step_seconds(seed: int, clients: int, low: float, high: float) -> Reals:
    """The compute times behind the authors' logs; their old generator, kept to itself."""
    return np.random.RandomState((seed + 9999) % 2**32).uniform(low, high, clients)
