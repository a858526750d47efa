"""What a scorer answers, and the plainest answer: no score, for methods that select without one."""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import SelectionContext


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


@dataclass(frozen=True)
class NoScore:
    """Gives every client the score ½ and asks nobody.

    Use when no other part goes by a score. Beware: kinds that need a score refuse it.
    """

    kind = "none"
    batches = 8
    """Mini-batches of a loss that a stressed world reads for itself."""
    augmented = False

    def asks(self, context: SelectionContext) -> Counts:
        return context.ids[:0]

    def score(self, context: SelectionContext) -> Scores:
        return Scores(context.ids, np.full(len(context.ids), 0.5), {})
