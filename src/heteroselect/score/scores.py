"""What a scorer answers."""

from dataclasses import dataclass

import numpy as np

from heteroselect.arrays import Counts, Reals


@dataclass(frozen=True)
class Scores:
    """S, and the parts it is made of, of all clients that may be selected: the client numbers `ids`, rising.

    A score may be infinite, which puts a client first where the selector goes by the order of scores.
    """

    ids: Counts
    total: Reals
    parts: dict[str, Reals]

    def __post_init__(self) -> None:
        if np.isnan(self.total).any():
            raise ValueError("a client's score is not a number")
        if self.total.shape != self.ids.shape:
            raise ValueError(f"{len(self.total)} scores are not one for each of {len(self.ids)} clients")
