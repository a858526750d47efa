"""The ledger: everything that a round sent, and its bytes by kind."""

from dataclasses import dataclass, field

import numpy as np

from heteroselect.arrays import Counts, Reals

LOSS_BYTES = 4  # of the answer to a scoring question: one float32


@dataclass(frozen=True)
class Calibrated:
    """The share of one client in measuring batch-norm statistics: its batches, and the bytes of its answer."""

    client: int
    batches: int
    answer: int


@dataclass(frozen=True)
class Messages:
    """What was sent in one round; its bytes and its seconds follow from this.

    `size` is N, `model` the bytes of the whole model and `shared` those of what goes down with it. `densities` and
    `payloads` (bytes) are in the order of `selected`. `reports` counts the numbers that are sent up before the updates,
    and `probe` the passes over a batch that each client's compressor makes of its own.
    """

    size: int
    model: int
    asked: Counts
    selected: Counts
    densities: Reals
    payloads: list[int]
    calibrated: list[Calibrated] = field(default_factory=list)
    shared: int = 0
    reports: int = 0
    probe: Reals | float = 0.0

    def bytes(self) -> "Bytes":
        only_asked = np.setdiff1d(self.asked, self.selected).size
        return Bytes(
            up_paper=float((self.densities * 4 * self.size).sum()),
            up=sum(self.payloads),
            up_clients=list(self.payloads),
            down=len(self.selected) * (self.model + self.shared),
            scoring=only_asked * self.model + (len(self.asked) + self.reports) * LOSS_BYTES,
            calibration=sum(self.model + one.answer for one in self.calibrated),
        )


@dataclass(frozen=True)
class Bytes:
    """The traffic of one round in bytes.

    up_paper: Σ θ_k·4N, the paper's count of values alone. up: real payloads; up_clients: those of each client. down:
    the model to the selected. scoring: the model to those that are scored but not selected, and all answers.
    calibration: the model down and the batch-norm statistics back.
    """

    up_paper: float
    up: int
    up_clients: list[int]
    down: int
    scoring: int
    calibration: int
