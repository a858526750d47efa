"""What the server knows of all K clients, and nothing it could not know."""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field

import numpy as np

from heteroselect.arrays import Counts, Reals
from heteroselect.compress.update import Update, Values, norm


@dataclass
class Population:
    """The server's memory of its clients.

    `losses` are those of the present model, as asked for this round, and NaN where nobody asked; `reports` are the
    numbers that clients sent with their last upload (and the `seconds` it took them), NaN before it; `counts` and
    `last_round` tell how often and when a client was selected (0: never); `uploads` are the last updates received,
    and `consensus` is the running average of the aggregates they are compared with.
    """

    sizes: Counts
    losses: Reals
    counts: Counts
    last_round: Counts
    reports: dict[str, Reals] = field(default_factory=dict)
    uploads: MutableMapping[int, Update] = field(default_factory=dict)
    consensus: Values | None = None

    @staticmethod
    def new(sizes: Counts) -> "Population":
        clients = len(sizes)
        return Population(
            sizes=sizes,
            losses=np.full(clients, np.nan),
            counts=np.zeros(clients, np.int64),
            last_round=np.zeros(clients, np.int64),
        )

    def __len__(self) -> int:
        return len(self.sizes)

    def selected(self, ids: Counts, round: int) -> None:
        self.counts[ids] += 1
        self.last_round[ids] = round

    def reported(self, name: str) -> Reals:
        """One number of each client's last report, NaN where there is none."""
        return self.reports.get(name, np.full(len(self), np.nan))

    def reported_by(self, client: int, report: Mapping[str, float]) -> None:
        for name, value in report.items():
            self.reports.setdefault(name, np.full(len(self), np.nan))[client] = value

    def received(self, client: int, update: Update) -> None:
        """Only positions and values are kept, and positions in half the space where they fit."""
        positions = update.positions
        if not update.is_dense and update.size < 2**31:
            positions = positions.astype(np.int32)
        self.uploads[client] = Update(update.size, positions, update.values)

    def only(self, ids: Counts) -> "Population":
        """What is known of some of them."""
        if len(ids) == len(self):
            return self
        return Population(
            sizes=self.sizes[ids],
            losses=self.losses[ids],
            counts=self.counts[ids],
            last_round=self.last_round[ids],
            reports={name: values[ids] for name, values in self.reports.items()},
            uploads={place: self.uploads[int(k)] for place, k in enumerate(ids) if int(k) in self.uploads},
            consensus=self.consensus,
        )

    def agree(self, aggregate: Values, keep: float) -> None:
        """Δ̄ ← keep·Δ̄ + (1 − keep)·aggregate; the first aggregate is taken as it is."""
        if self.consensus is None:
            self.consensus = aggregate.copy()
        else:
            self.consensus = np.float32(keep) * self.consensus + np.float32(1 - keep) * aggregate

    def cosines(self) -> dict[int, float]:
        """cos(last upload, consensus) of every client whose upload and the consensus are not zero."""
        if self.consensus is None:
            return {}
        length = norm(self.consensus)
        found = {}
        for client, update in self.uploads.items():
            scale = update.norm() * length
            if scale > 0:
                found[client] = update.dot(self.consensus) / scale
        return found
