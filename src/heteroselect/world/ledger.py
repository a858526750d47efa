"""The ledger: everything that a round sent, and its bytes by kind."""

from dataclasses import dataclass, field

import numpy as np

from heteroselect.core.arrays import Counts, Reals

LOSS_BYTES = 4  # of the answer to a scoring question: one float32


@dataclass(frozen=True)
class Calibrated:
    """The share of one client in measuring batch-norm statistics: its batches, the bytes of its answer, and those that
    it fetched (None: the whole model)."""

    client: int
    batches: int
    answer: int
    down: int | None = None


@dataclass(frozen=True)
class Messages:
    """What was sent in one round; its bytes and its seconds follow from this.

    `size` is N, `model` the bytes of the whole model and `shared` those of what goes down with it. `downloads` are the
    bytes that each client (of all) fetches to have the model; None: everybody fetches the whole. `densities` and
    `payloads` (bytes) are in the order of `selected`. `reports` counts the numbers that are sent up before the updates,
    and `probe` the passes over a batch that each client's compressor makes of its own. Where `held`, a client keeps its
    update until everybody has told its length, and only those with a density are asked for theirs.
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
    downloads: Counts | None = None
    held: bool = False

    def fetched(self, ids: Counts) -> Counts:
        """The bytes of the model on its way down to these clients."""
        return np.full(len(ids), self.model) if self.downloads is None else self.downloads[ids]

    def calibrating(self, one: Calibrated) -> int:
        """The same of one that measures statistics."""
        return self.model if one.down is None else one.down

    def bytes(self) -> "Bytes":
        only_asked = np.setdiff1d(self.asked, self.selected)
        return Bytes(
            up_paper=float((self.densities * 4 * self.size).sum()),
            up=sum(self.payloads),
            up_clients=list(self.payloads),
            down=int(self.fetched(self.selected).sum()) + len(self.selected) * self.shared,
            scoring=int(self.fetched(only_asked).sum()) + (len(self.asked) + self.reports) * LOSS_BYTES,
            calibration=sum(self.calibrating(one) + one.answer for one in self.calibrated),
        )


@dataclass(frozen=True)
class Bytes:
    """The traffic of one round in bytes.

    up_paper: Σ θ_k·4N, the paper's count of values alone. up: real payloads; up_clients: those of each client. down:
    the model to the selected, or the steps that they lack. scoring: the same to those that are scored but not selected,
    and all answers. calibration: the same and the batch-norm statistics back.
    """

    up_paper: float
    up: int
    up_clients: list[int]
    down: int
    scoring: int
    calibration: int
