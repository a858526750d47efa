"""How many local steps does each client take?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.arrays import Counts, Reals


@dataclass(frozen=True)
class EqualSteps:
    """H for everybody."""

    kind: ClassVar[str] = "equal"

    def of(self, steps: int, step_seconds: Reals) -> Counts:
        return np.full(len(step_seconds), steps)


@dataclass(frozen=True)
class DeviceSteps:
    """As many as a client's device does in the time that the cohort's median device needs for H: at least 1, at most
    4H. Slow devices are then not waited for, and learn less; H for everybody where a step takes no time."""

    kind: ClassVar[str] = "device"
    by_cohort: ClassVar[bool] = True

    def of(self, steps: int, step_seconds: Reals) -> Counts:
        """
        >>> DeviceSteps().of(50, np.array([0.1, 0.2, 0.5])).tolist()
        [100, 50, 20]
        """
        if not np.isfinite(step_seconds).all():
            raise ValueError("a device's seconds per step are not finite")
        if not (step_seconds > 0).all():
            return np.full(len(step_seconds), steps)
        return np.clip(np.rint(steps * np.median(step_seconds) / step_seconds), 1, 4 * steps).astype(np.int64)
