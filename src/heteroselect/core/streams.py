"""Randomness from one place: independent streams keyed by (seed, purpose, round, client).

No part ever touches a global generator, so a result depends neither on the number of threads, nor on
the order in which clients finish, nor on a restart.
"""

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Streams:
    """The source of every random number of a run.

    >>> a = Streams(42).numpy("links", round=3, client=7)
    >>> b = Streams(42).numpy("links", round=3, client=7)
    >>> bool(a.random() == b.random())
    True
    """

    seed: int

    def _sequence(self, purpose: str, round: int, client: int) -> np.random.SeedSequence:
        return np.random.SeedSequence([self.seed, zlib.crc32(purpose.encode()), round, client])

    def numpy(self, purpose: str, *, round: int = 0, client: int = 0) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(self._sequence(purpose, round, client)))

    def torch(
        self, purpose: str, *, round: int = 0, client: int = 0, device: "str | torch.device" = "cpu"
    ) -> "torch.Generator":
        import torch  # many who have streams draw nothing with it

        generator = torch.Generator(device=device)
        state = self._sequence(purpose, round, client).generate_state(1, np.uint64)
        # 63 bits: torch stores the seed as a signed integer on some devices
        generator.manual_seed(int(state[0]) >> 1)
        return generator
