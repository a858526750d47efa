"""Which updates are refused: those far longer than the others of their round."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.part import setting
from heteroselect.core.update import Update

HISTORY = 31  # lengths remembered
HUGE = 1e18  # the square of a float32 beyond it is infinite


@dataclass(frozen=True)
class Screen:
    """Refuses updates longer than `bound` times the median of the cohort, or of the last ones accepted where the cohort
    has fewer than three, which is no majority to go by.

    Honest updates differ in length too (a density of 1 beside one of 0.005), so the default is wide. What no model
    could take is always refused.

    Use when some senders may be broken. Beware: it is no defence against clients that mean harm and know the bound.
    """

    kind = "norm"

    bound: float = setting(100.0, "an update this many times longer than the median is refused; 0 refuses none", ge=0)
    claims: float = setting(
        10.0, "a reported loss, length, size or speed this many times the median is cut to it; 0 cuts none", ge=0
    )

    def refused(self, updates: Mapping[int, Update], history: Reals | None = None) -> set[int]:
        """The clients whose update is too long; `history` has the lengths of the last ones accepted.

        >>> vector = lambda length: Update(1, np.zeros(1, np.int64), np.array([length], np.float32))
        >>> Screen(10).refused({0: vector(1.0), 1: vector(2.0), 2: vector(21.0)})
        {2}
        """
        lengths = {client: update.norm() for client, update in updates.items()}
        huge = {client for client, length in lengths.items() if length > HUGE}
        usual = list(lengths.values()) if len(updates) > 2 else [] if history is None else list(history)
        if not self.bound or len(usual) < 3:
            return huge
        limit = self.bound * float(np.median(usual))
        return huge | {client for client, length in lengths.items() if length > limit > 0}

    def remember(self, history: Reals | None, updates: Mapping[int, Update]) -> Reals:
        """The lengths of the last updates accepted, these among them."""
        before = np.empty(0) if history is None else history
        return np.concatenate([before, [updates[client].norm() for client in sorted(updates)]])[-HISTORY:]
