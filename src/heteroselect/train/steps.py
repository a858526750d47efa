"""How many local steps does each client take?"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.arrays import Counts, Reals


@dataclass(frozen=True)
class Steps:
    """`equal` is H for everybody; `device` as many as a client's device does in the time that the cohort's median
    device needs for H: at least 1, at most 4H. The slow are then not waited for, and speak of less."""

    rule: Literal["equal", "device"] = "equal"

    def of(self, steps: int, step_seconds: Reals) -> Counts:
        """
        >>> Steps("device").of(50, np.array([0.1, 0.2, 0.5])).tolist()
        [100, 50, 20]
        """
        if self.rule == "equal" or not (step_seconds > 0).all():
            return np.full(len(step_seconds), steps)
        counts: Counts = np.clip(np.rint(steps * np.median(step_seconds) / step_seconds), 1, 4 * steps).astype(np.int64)
        return counts
