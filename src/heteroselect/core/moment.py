"""Where a run stands: round t of a horizon of T, which every schedule of the paper counts by."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Moment:
    """Rounds count from 1, as in the paper; `now` is the simulated second at which the round begins."""

    round: int
    rounds: int
    now: float = 0.0

    @property
    def progress(self) -> float:
        """min(t/T, 1)"""
        return min(self.round / self.rounds, 1.0)
