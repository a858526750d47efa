"""The clock: how long a round takes, by the bytes one chooses to charge for."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.arrays import Counts, Reals
from heteroselect.world.ledger import LOSS_BYTES, Messages

PAPER_BITS = 32  # of a kept value, as the paper counts


@dataclass(frozen=True)
class Speeds:
    """What all clients have this round: bit/s up and down, and seconds a local step."""

    up: Reals
    down: Reals
    step_seconds: Reals


@dataclass(frozen=True)
class Clock:
    """charge: `paper` takes θ_k·32N bits up and nothing else, `uplink` the real payloads, `everything` also the
    model on its way down, scoring and calibration.

    A forward pass takes `forward_share` of a training step.
    """

    charge: Literal["paper", "uplink", "everything"] = "paper"
    forward_share: float = 1 / 3

    def seconds(self, sent: Messages, speeds: Speeds, steps: int | Counts, scoring_batches: int) -> float:
        """A round lasts until its slowest client has done all that is charged."""
        training = float(self.answers(sent, speeds, steps).max())
        return training + self.beside(sent, speeds, scoring_batches)

    def answers(self, sent: Messages, speeds: Speeds, steps: int | Counts) -> Reals:
        """After how many seconds each of the selected has answered, from the moment it was told to train; `steps` are
        everybody's, or each one's own."""
        ids = sent.selected
        compute: Reals = steps * speeds.step_seconds[ids]
        if self.charge == "paper":
            return upload_seconds(sent.densities, speeds.up[ids], sent.size) + compute
        upload: Reals = 8 * np.array(sent.payloads) / speeds.up[ids]
        if self.charge == "uplink":
            return upload + compute
        fetched = np.isin(ids, sent.asked)  # whoever was scored has the model already
        download = np.where(fetched, 0.0, 8 * sent.model / speeds.down[ids]) + 8 * sent.shared / speeds.down[ids]
        return download + compute + upload

    def beside(self, sent: Messages, speeds: Speeds, scoring_batches: int) -> float:
        """Scoring before and calibration after the training, where they are charged for."""
        if self.charge != "everything":
            return 0.0
        return self._scoring(sent, speeds, scoring_batches) + self._calibration(sent, speeds)

    def _scoring(self, sent: Messages, speeds: Speeds, batches: int) -> float:
        """Until the slowest client asked has the model, has run it forwards and has answered."""
        if len(sent.asked) == 0:
            return 0.0
        asked = sent.asked
        forward = batches * self.forward_share * speeds.step_seconds[asked]
        return float((8 * sent.model / speeds.down[asked] + forward + 8 * LOSS_BYTES / speeds.up[asked]).max())

    def _calibration(self, sent: Messages, speeds: Speeds) -> float:
        """One client after the other, because each goes on from the statistics of the one before."""
        total = 0.0
        for one in sent.calibrated:
            forward = one.batches * self.forward_share * speeds.step_seconds[one.client]
            total += 8 * sent.model / speeds.down[one.client] + forward + 8 * one.answer / speeds.up[one.client]
        return float(total)


def upload_seconds(densities: Reals, bandwidth: Reals, size: int) -> Reals:
    """θ_k·32N/B_k, the paper's uplink time (section V-C)."""
    return densities * PAPER_BITS * size / bandwidth


def time_budget(average: float, size: int, bandwidth: float, steps: int, step_seconds: float) -> float:
    """T_budget = θ_avg·32N/B̄ + H·c̄: the round of an average client; undefined in the text, from the logs."""
    return average * PAPER_BITS * size / bandwidth + steps * step_seconds
