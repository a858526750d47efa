"""How many local steps does each client take?"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits

LONGEST = 20.0
"""A round has at most so many times H steps: η₀/η may be as high as one likes, and a round is to end."""


def longer(steps: int, growth: float, start: float, rate: float) -> int:
    """H·(η₀/η)^q, from H to 20H: what a client moves away from the others in a round goes as η·H, so with q = 1 it
    stays what it was. (q = 2 is the "quadratic synchronization rule" of Gu, Lyu, Arora, Zhang, Huang, ICLR 2024.)

    >>> longer(20, 1.0, 0.2, 0.05), longer(20, 0.0, 0.2, 0.05), longer(20, 1.0, 0.2, 0.4)
    (80, 20, 20)
    """
    if growth == 0:
        return steps
    slower = start / rate if rate > 0 else float("inf")
    return round(steps * min(float(max(1.0, slower) ** growth), LONGEST))


def _growth() -> float:
    return setting(
        0.0, "exponent q: rounds have (η₀/η)^q times as many steps as the rate falls; 0: always the same", ge=0
    )


@dataclass(frozen=True)
class EqualSteps:
    """Lets every client take H steps.

    Use when the setting is the usual one, or a solver corrects drift. Beware: a round waits for the slowest device.
    """

    kind = "equal"

    growth: float = _growth()

    def of(self, steps: int, step_seconds: Reals) -> Counts:
        return np.full(len(step_seconds), steps)


@dataclass(frozen=True)
class DeviceSteps:
    """Lets a client take as many steps as its device does in the time that the cohort's median device needs for H: at
    least 1, at most 4H. Slow devices are then not waited for, and learn less; H for everybody where a step takes no
    time.

    Use when devices differ much and rounds are to be short. Beware: fast devices pull the model towards their data;
    `weigh` fednova corrects it.
    """

    kind = "device"
    traits = Traits(by_cohort=True)

    growth: float = _growth()

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
