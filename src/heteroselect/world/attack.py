"""Hostile clients: a share of all clients that send what hurts instead of what they learnt.

They do everything else as they should: their payloads are valid, arrive in time and are decoded like any other. A
method under attack is the same method; only what these clients answer differs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heteroselect.core.arrays import Reals
from heteroselect.core.messages import Upload
from heteroselect.core.streams import Streams
from heteroselect.core.update import Update, to_float32
from heteroselect.parts.compress.wire import TABLE, Table, decode, encode

Kind = Literal["none", "flip", "hidden", "gaussian", "labels", "lie"]


@dataclass(frozen=True)
class Attack:
    """`flip` sends −`strength` times the update. `hidden` sends its opposite, as long as the screen, whose bound it
    knows, lets pass. `gaussian` sends noise that is `strength` times as long as the update. `labels` trains on labels
    that are turned around (class c becomes C − 1 − c). `lie` claims a loss and lengths that are `strength` times the
    true ones, and sends what it should."""

    kind: Kind = "none"
    share: float = 0.0
    strength: float = 10.0

    def hostile(self, clients: int, streams: Streams) -> NDArray[np.bool_]:
        """Which of the clients are hostile: the nearest whole number to their share, drawn once per run."""
        found = np.zeros(clients, bool)
        if self.kind != "none":
            count = round(self.share * clients)
            found[streams.numpy("hostile clients").permutation(clients)[:count]] = True
        return found

    def losses(self, losses: Reals, hostile: NDArray[np.bool_]) -> Reals:
        """The losses that are claimed."""
        return np.where(hostile, losses * self.strength, losses) if self.kind == "lie" else losses

    def uploads(
        self,
        uploads: Mapping[int, Upload],
        hostile: NDArray[np.bool_],
        size: int,
        bound: float,
        round: int,
        streams: Streams,
        codecs: Table = TABLE,
    ) -> dict[int, Upload]:
        """The uploads as they are sent; `bound` is the screen's, `codecs` are those of the method."""
        ours = [client for client in uploads if hostile[client]]
        if self.kind in ("none", "labels") or not ours:
            return dict(uploads)
        if self.kind == "lie":
            return {**uploads, **{client: self._lying(uploads[client]) for client in ours}}
        sent = {client: decode(one.payload, size, codecs) for client, one in uploads.items() if one.payload}
        others = [update.norm() for client, update in sent.items() if not hostile[client]]
        reach = 0.99 * (bound or self.strength) * float(np.median(others)) if others else 0.0
        changed = dict(uploads)
        for client in sent.keys() & ours:
            rng = streams.numpy("hostile update", round=round, client=client)
            changed[client] = replace(uploads[client], payload=encode(self._turned(sent[client], reach, rng)))
        return changed

    def _lying(self, upload: Upload) -> Upload:
        return replace(upload, report={name: self.strength * value for name, value in upload.report.items()})

    def _turned(self, update: Update, reach: float, rng: np.random.Generator) -> Update:
        values = update.values.astype(np.float64)
        if self.kind == "flip":
            values = -self.strength * values
        elif self.kind == "gaussian":
            values = self.strength * update.norm() / np.sqrt(max(1, values.size)) * rng.standard_normal(values.size)
        elif update.norm() > 0:
            values = -(reach or self.strength * update.norm()) / update.norm() * values
        return Update(update.size, update.positions, to_float32(values))
