"""Faults between client and server: answers that never come, come late, or are not what was sent."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heteroselect.core.arrays import Reals
from heteroselect.core.messages import Upload
from heteroselect.core.streams import Streams
from heteroselect.core.update import Update
from heteroselect.parts.compress.wire import TABLE, Table, WireError, decode, encode

KINDS = ("missing", "late", "corrupt", "nan", "inf", "scaled")


@dataclass(frozen=True)
class Event:
    """What kept the update of a client out of the aggregate (missing, late, rejected), which claim of it was cut or
    refused (claim), or what else went wrong with its messages (trouble); and where known why."""

    client: int
    kind: str
    detail: str = ""


@dataclass(frozen=True)
class Faults:
    """The probability of each kind, per upload; at most one of them happens to an upload.

    `missing` never arrives. `late` takes `late_factor` times as long. `corrupt` has one byte changed, `nan` and `inf`
    carry a value that is not finite, `scaled` is a million times too long. The server waits `deadline` seconds (0: as
    long as the slowest was expected to take) for those that are missing; an answer that comes later is dropped, or
    waited for.
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
        """The kind of fault of each upload that has one this round, by client."""
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

    def damage(
        self, upload: Upload, kind: str, size: int, round: int, streams: Streams, codecs: Table = TABLE
    ) -> Upload:
        """The upload as it arrives; one that cannot be decoded arrives as it is. `codecs` are those of the method
        where it has its own."""
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
            sent = decode(upload.payload, size, codecs)
        except WireError:
            return upload
        values = sent.values * np.float32(1e6)
        if kind != "scaled" and values.size:
            values[0] = np.nan if kind == "nan" else np.inf
        return replace(upload, payload=encode(Update(sent.size, sent.positions, values)))

    def wait(self, expected: Reals, struck: Sequence[str | None], enough: int = 0) -> tuple[list[bool], float, Reals]:
        """Whether each answer is in time, how many seconds the server waits, and how many each answer takes; `expected`
        are the seconds of each answer without faults. The server waits no longer once it has `enough` answers (0: it
        waits for all)."""
        if len(expected) == 0:
            return [], 0.0, expected
        deadline = self.deadline or float(expected.max())
        seconds, present = self._answers(expected, struck)
        # a tolerance, so that the slowest of the expected is not late by a rounding
        in_time = present & ((seconds <= deadline * (1 + 1e-9)) | (self.late_rule == "wait"))
        if 0 < enough <= in_time.sum():
            first = np.argsort(np.where(in_time, seconds, np.inf), kind="stable")[:enough]
            return np.isin(np.arange(len(seconds)), first).tolist(), float(seconds[first].max()), seconds
        until = float(seconds[in_time].max()) if in_time.any() else 0.0
        if not in_time.all():
            until = max(until, deadline)
        return in_time.tolist(), until, seconds

    def each(self, expected: Reals, struck: Sequence[str | None]) -> tuple[Reals, list[bool]]:
        """How many seconds until each answer is there or is given up, where nobody waits for another, and whether it is
        dropped. A late answer just comes late, unless there is a deadline after which it is dropped; a missing one is
        given up then, or when it was expected."""
        seconds, present = self._answers(expected, struck)
        if not self.deadline:
            return seconds, [False] * len(seconds)
        dropped = present & (seconds > self.deadline) & (self.late_rule == "drop")
        return np.where(dropped | ~present, self.deadline, seconds), dropped.tolist()

    def _answers(self, expected: Reals, struck: Sequence[str | None]) -> tuple[Reals, NDArray[np.bool_]]:
        """How many seconds each answer takes, and whether it comes at all."""
        factor = np.array([self.late_factor if kind == "late" else 1.0 for kind in struck])
        return expected * factor, np.array([kind != "missing" for kind in struck], bool)
