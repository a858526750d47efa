"""What the server does not believe: an update far longer than those of the others."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from heteroselect.compress.update import Update


@dataclass(frozen=True)
class Screen:
    """Refuses updates longer than `bound` times the median of the cohort; 0 believes everybody.

    Honest updates differ in length too (a density of 1 beside one of 0.005), so the default is wide: it is there
    for the broken sender, whose numbers are off by orders of magnitude. A cohort of two has no majority to go by.
    """

    bound: float = 100.0

    def refused(self, updates: Mapping[int, Update]) -> set[int]:
        """
        >>> vector = lambda length: Update(1, np.zeros(1, np.int64), np.array([length], np.float32))
        >>> Screen(10).refused({0: vector(1.0), 1: vector(2.0), 2: vector(21.0)})
        {2}
        """
        if not self.bound or len(updates) < 3:
            return set()
        lengths = {client: update.norm() for client, update in updates.items()}
        limit = self.bound * float(np.median(list(lengths.values())))
        return {client for client, length in lengths.items() if length > limit > 0}
