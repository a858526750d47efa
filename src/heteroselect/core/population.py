"""What the server knows of all K clients, and nothing it could not know."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.update import Update


@dataclass(frozen=True)
class Population:
    """The server's memory of its clients; what changes it returns a new one. `losses` are those of the present model,
    as asked for this round, and NaN where nobody asked; `reports` are the numbers that clients sent with their last
    upload (beside the `seconds` it took them and its `round`), NaN before it; `counts` and `last_round` tell how often
    and when a client was selected (0: never); `uploads` are the last updates received."""

    sizes: Counts
    losses: Reals
    counts: Counts
    last_round: Counts
    reports: Mapping[str, Reals] = field(default_factory=dict)
    uploads: Mapping[int, Update] = field(default_factory=dict)

    @staticmethod
    def new(sizes: Counts) -> "Population":
        """Clients with so many examples each, of whom nothing else is known."""
        clients = len(sizes)
        return Population(sizes, np.full(clients, np.nan), np.zeros(clients, np.int64), np.zeros(clients, np.int64))

    def __len__(self) -> int:
        return len(self.sizes)

    def selected(self, ids: Counts, round: int) -> "Population":
        """The population after these clients were selected in that round."""
        counts, last_round = self.counts.copy(), self.last_round.copy()
        counts[ids] += 1
        last_round[ids] = round
        return replace(self, counts=counts, last_round=last_round)

    @property
    def answered(self) -> Counts:
        """The round that each client's last report and upload are of; where none is known, that of its selection."""
        known = self.reported("round")
        return np.where(np.isfinite(known), known, self.last_round).astype(np.int64)

    def reported(self, name: str) -> Reals:
        """One number of each client's last report, NaN where there is none."""
        return self.reports.get(name, np.full(len(self), np.nan))

    def reported_by(self, reports: Mapping[int, Mapping[str, float]]) -> "Population":
        """The population after these clients sent these reports."""
        names = {name: None for report in reports.values() for name in report}  # in the order of their appearance
        changed = {name: self.reported(name).copy() for name in names}
        for client, report in reports.items():
            for name, value in report.items():
                changed[name][client] = value
        return replace(self, reports={**self.reports, **changed})

    def only(self, ids: Counts) -> "Population":
        """What is known of some clients, in that order; `uploads` are then keyed by place in `ids`."""
        if np.array_equal(ids, np.arange(len(self))):
            return self
        return Population(
            sizes=self.sizes[ids],
            losses=self.losses[ids],
            counts=self.counts[ids],
            last_round=self.last_round[ids],
            reports={name: values[ids] for name, values in self.reports.items()},
            uploads={place: self.uploads[int(k)] for place, k in enumerate(ids) if int(k) in self.uploads},
        )


def remembered(update: Update) -> Update:
    """The update as `uploads` keeps it: positions and values only, and positions in half the space where they fit."""
    positions = update.positions
    if not update.is_dense and update.size < 2**31:
        positions = positions.astype(np.int32)
    return Update(update.size, positions, update.values)
