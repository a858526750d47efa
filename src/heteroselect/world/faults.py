"""What goes wrong between client and server: answers that never come, come late, or are not what was sent."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from heteroselect.arrays import Reals
from heteroselect.compress.update import Update
from heteroselect.compress.wire import WireError, decode, encode
from heteroselect.messages import Upload
from heteroselect.streams import Streams

KINDS = ("missing", "late", "corrupt", "nan", "inf", "scaled")


@dataclass(frozen=True)
class Event:
    """Something that kept a client's update out of the aggregate, or nearly did."""

    client: int
    kind: str
    detail: str = ""


@dataclass(frozen=True)
class Faults:
    """The chance of each kind, for each upload; at most one of them happens to it.

    `missing` never answers. `late` takes `late_factor` times as long. `corrupt` has a byte flipped on its way, `nan`
    and `inf` carry a value that is none, `scaled` is a million times too long. The server waits until `deadline`
    seconds (0: as long as the slowest was expected to take) for those who are missing; whoever is later than that
    is dropped, or waited for.
    """

    missing: float = 0.0
    late: float = 0.0
    corrupt: float = 0.0
    nan: float = 0.0
    inf: float = 0.0
    scaled: float = 0.0
    late_factor: float = 3.0
    late_rule: Literal["drop", "wait"] = "drop"
    deadline: float = 0.0

    def strike(self, uploads: Sequence[Upload], round: int, streams: Streams) -> dict[int, str]:
        """Who is struck by what this round."""
        limits = np.cumsum([getattr(self, kind) for kind in KINDS])
        if limits[-1] == 0:
            return {}
        struck = {}
        for upload in uploads:
            drawn = streams.numpy("faults", round=round, client=upload.client).random()
            place = int(np.searchsorted(limits, drawn, side="right"))
            if place < len(KINDS):
                struck[upload.client] = KINDS[place]
        return struck

    def damage(self, upload: Upload, kind: str, size: int, round: int, streams: Streams) -> Upload:
        """What arrives of an upload that is damaged on its way; one that cannot be read is bad enough as it is."""
        if not upload.payload:
            return upload
        if kind == "corrupt":
            rng = streams.numpy("damage", round=round, client=upload.client)
            payload = bytearray(upload.payload)
            payload[int(rng.integers(len(payload)))] ^= int(rng.integers(1, 256))
            return replace(upload, payload=bytes(payload))
        if kind not in ("nan", "inf", "scaled"):
            return upload
        try:
            sent = decode(upload.payload, size)
        except WireError:
            return upload
        values = sent.values * np.float32(1e6)
        if kind != "scaled" and values.size:
            values[0] = np.nan if kind == "nan" else np.inf
        return replace(upload, payload=encode(Update(sent.size, sent.positions, values)))

    def wait(self, expected: Reals, struck: Sequence[str | None]) -> tuple[list[bool], float, Reals]:
        """Who is in time, how long the server waits for them all, and how long each really takes; `expected` are the
        seconds of each answer."""
        if len(expected) == 0:
            return [], 0.0, expected
        deadline = self.deadline or float(expected.max())
        factor = np.array([self.late_factor if kind == "late" else 1.0 for kind in struck])
        seconds = expected * factor
        here = np.array([kind != "missing" for kind in struck])
        # a hair's breadth, so that the slowest of the expected is not late by a rounding
        late = here & (seconds > deadline * (1 + 1e-9))
        if self.late_rule == "wait":
            late[:] = False
        in_time = here & ~late
        until = float(seconds[in_time].max()) if in_time.any() else 0.0
        if not in_time.all():
            until = max(until, deadline)
        return in_time.tolist(), until, seconds
