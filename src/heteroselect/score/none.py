"""No score: for methods that select without one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.arrays import Counts
from heteroselect.score.scores import Scores
from heteroselect.select.cohort import Situation


@dataclass(frozen=True)
class NoScore:
    """Nobody is asked, and everybody is as informative: ½."""

    kind: ClassVar[str] = "none"
    batches: ClassVar[int] = 8
    """Mini-batches of a loss that a stressed world reads for itself."""
    augmented: ClassVar[bool] = False

    def asks(self, here: Situation) -> Counts:
        return here.ids[:0]

    def score(self, here: Situation) -> Scores:
        return Scores(here.ids, np.full(len(here.ids), 0.5), {})
