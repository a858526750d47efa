"""The clock: how many simulated seconds a round takes, by the bytes that one chooses to charge for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.conditions import VALUE_BITS, Conditions
from heteroselect.world.ledger import LOSS_BYTES, Messages

Charge = Literal["paper", "uplink", "everything"]
COUNTED = {
    "paper": "32 bits up for each kept value, as the paper does, and nothing else",
    "uplink": "the real payloads up, and nothing else",
    "everything": "downloads, real payloads, scoring and calibration, and the device time of all passes, probes and "
    "encoding",
}
CHARGES: tuple[Charge, ...] = ("paper", "uplink", "everything")


def clock_sentence(charges: Iterable[str]) -> str:
    """What the seconds of a table or a page count.

    >>> clock_sentence(["uplink"])
    'The clock (uplink) counts the real payloads up, and nothing else.'
    """
    known = sorted(set(charges))
    if len(known) == 1:
        return f"The clock ({known[0]}) counts {COUNTED[known[0]]}."
    return f"The runs have several clocks ({', '.join(known)}), so that their seconds cannot be compared."


@dataclass(frozen=True)
class Spent:
    """Seconds of each selected client: of its downloads, of its device, of its upload, and in all."""

    down: Reals
    compute: Reals
    up: Reals
    total: Reals


@dataclass(frozen=True)
class Seconds:
    """The seconds of a round by one clock: of scoring, of each selected client, of training until the server stopped
    waiting, and of calibration."""

    scoring: float
    spent: Spent
    training: float = 0.0
    calibration: float = 0.0

    @property
    def total(self) -> float:
        return self.training + (self.scoring + self.calibration)


@dataclass(frozen=True)
class Timing:
    """The seconds of a round that began at `now`, by every clock that was asked; `charge` is the server's own."""

    charge: Charge
    now: float
    by_charge: dict[Charge, Seconds]

    @property
    def own(self) -> Seconds:
        return self.by_charge[self.charge]

    def waited(self, wait: Callable[[Reals], float]) -> "Timing":
        """The same, once it is known how long the server waits for answers that take so many seconds."""
        return replace(
            self, by_charge={k: replace(one, training=wait(one.spent.total)) for k, one in self.by_charge.items()}
        )

    def calibrated(self, clock: "Clock", sent: Messages, conditions: Conditions) -> "Timing":
        """The same with calibration, which follows the training."""
        found = {}
        for charge, one in self.by_charge.items():
            begin = self.now + one.scoring + one.training
            seconds = replace(clock, charge=charge).calibration(sent, conditions, begin)
            found[charge] = replace(one, calibration=seconds)
        return replace(self, by_charge=found)


Moving = Callable[[Counts, Reals | float, Reals | float], Reals]
"""Seconds that bits of some clients take from a simulated second on."""
ENCODE_SHARE = 0.15
"""Time that a client takes to encode an update, as a share of a training step."""


@dataclass(frozen=True)
class Clock:
    """Counts what `COUNTED` says of its `charge`; the paper's bits are θ_k·32N.

    A forward pass takes `forward_share` of a training step, encoding an update `encode_share`. Conditions are those of
    all clients; `now` is the simulated second at which the thing that is asked about begins.
    """

    charge: Charge = "paper"
    forward_share: float = 1 / 3
    encode_share: float = 0.0
    latency: float = 0.0
    """Seconds that each message takes besides its bits, both ways, where everything is charged."""
    loss: float = 0.0
    """Share of the bits that are lost and sent again, both ways, where everything is charged."""

    def timing(
        self, sent: Messages, conditions: Conditions, passes: Reals | float, scoring_batches: int, now: float = 0.0
    ) -> Timing:
        """Scoring and the answers of a round that begins at `now`, by every way of charging."""
        found: dict[Charge, Seconds] = {}
        for charge in CHARGES:
            clock = replace(self, charge=charge)
            scoring = clock.scoring(sent, conditions, scoring_batches, now)
            found[charge] = Seconds(scoring, clock.spent(sent, conditions, passes, now + scoring))
        return Timing(self.charge, now, found)

    def spent(self, sent: Messages, conditions: Conditions, passes: Reals | float, now: float) -> Spent:
        """Seconds until each selected client has answered; `passes` over a batch are everybody's, or each one's own."""
        ids = sent.selected
        compute: Reals = passes * conditions.step_seconds[ids]
        if self.charge != "everything":  # θ_k·32N/B_k is the paper's uplink time (section V-C)
            bits = sent.densities * VALUE_BITS * sent.size if self.charge == "paper" else 8 * np.array(sent.payloads)
            asked = asked_to_send(sent, compute)
            up = conditions.up_seconds(ids, bits, now + asked)
            return Spent(np.zeros(len(ids)), compute, up, up + asked)
        bits = 8 * np.array(sent.payloads)
        fetched = np.isin(ids, sent.asked)  # a client that was scored has the model already
        download = self._moving(conditions.down_seconds, ids, np.where(fetched, 0.0, 8 * sent.fetched(ids)), now)
        download = download + self._moving(conditions.down_seconds, ids, 8 * sent.shared, now + download)
        trained = download + compute
        told = self._moving(conditions.up_seconds, ids, 8 * LOSS_BYTES, now + trained) if sent.held else 0.0
        coding = np.where(bits > 0, sent.probe + self.encode_share, 0.0) * conditions.step_seconds[ids]
        ready = asked_to_send(sent, trained + told) + coding
        up = self._moving(conditions.up_seconds, ids, bits, now + ready)
        return Spent(download, compute + coding, told + up, ready + up)

    def _moving(self, seconds: Moving, ids: Counts, bits: Reals | float, start: Reals | float) -> Reals:
        """Seconds of a message to or from each client, by its link; nothing where no message is sent."""
        return seconds(ids, bits / (1 - self.loss), start) + np.where(np.asarray(bits) > 0, self.latency, 0.0)

    def scoring(self, sent: Messages, conditions: Conditions, batches: int, now: float) -> float:
        """Seconds until the slowest client asked has the model, has run it forwards and has answered."""
        asked = sent.asked
        if self.charge != "everything" or len(asked) == 0:
            return 0.0
        download = self._moving(conditions.down_seconds, asked, 8 * sent.fetched(asked).astype(float), now)
        ready = download + batches * self.forward_share * conditions.step_seconds[asked]
        return float((ready + self._moving(conditions.up_seconds, asked, 8 * LOSS_BYTES, now + ready)).max())

    def calibration(self, sent: Messages, conditions: Conditions, now: float) -> float:
        """Seconds of one client after the other, because each continues from the statistics of the one before."""
        total = 0.0
        for one in sent.calibrated if self.charge == "everything" else []:
            client, start = np.array([one.client]), now + total
            download = self._moving(conditions.down_seconds, client, 8 * sent.calibrating(one), start)
            ready = download + one.batches * self.forward_share * conditions.step_seconds[client]
            total += float((ready + self._moving(conditions.up_seconds, client, 8 * one.answer, start + ready))[0])
        return total


def asked_to_send(sent: Messages, done: Reals) -> Reals:
    """Seconds until each client may send its update: once it is `done` itself, or, where senders are chosen among those
    who have trained, once the last of all is."""
    return np.where(sent.densities > 0, done.max(initial=0.0), done) if sent.held else done


def time_budget(average: float, size: int, bandwidth: float, steps: float, step_seconds: float) -> float:
    """T_budget = θ_avg·32N/B̄ + H·c̄: the round of an average client; undefined in the text, from the logs."""
    return average * VALUE_BITS * size / bandwidth + steps * step_seconds
