"""Which updates are refused: those far longer than the others of their round."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.compress.update import Update
from heteroselect.part import setting


@dataclass(frozen=True)
class Screen:
    """Refuses updates longer than `bound` times the median of the cohort.

    Honest updates differ in length too (a density of 1 beside one of 0.005), so the default is wide: it is there
    for the broken sender, whose numbers are off by orders of magnitude. A cohort of two has no majority to go by.
    """

    kind: ClassVar[str] = "norm"

    bound: float = setting(
        100.0, "an update longer than this many times the cohort's median is refused; 0 refuses none", ge=0
    )

    def refused(self, updates: Mapping[int, Update]) -> set[int]:
        """The clients whose update is too long.

        >>> vector = lambda length: Update(1, np.zeros(1, np.int64), np.array([length], np.float32))
        >>> Screen(10).refused({0: vector(1.0), 1: vector(2.0), 2: vector(21.0)})
        {2}
        """
        if not self.bound or len(updates) < 3:
            return set()
        lengths = {client: update.norm() for client, update in updates.items()}
        limit = self.bound * float(np.median(list(lengths.values())))
        return {client for client, length in lengths.items() if length > limit > 0}
