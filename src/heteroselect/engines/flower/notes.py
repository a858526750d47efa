"""What is written down of the messages: what went wrong, as events of the round for rounds.jsonl, and more of it for
flower.jsonl, with the payloads and how long each took to decode."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from heteroselect.core.messages import Upload
from heteroselect.files import appending
from heteroselect.world import Event

LONGEST = 200  # characters of a detail: some are written by nodes


class Notes:
    """Of the present round. With `log`, a line is added to it when the round is over."""

    def __init__(self, log: Path | None) -> None:
        self.log = log
        self.troubles: list[str] = []
        self._events: dict[Event, None] = {}  # each once, however often it happened
        self._payloads: dict[str, str] = {}
        self._decoding: dict[str, float] = {}

    def trouble(self, client: int, what: str, *, kind: str = "trouble", node: int | None = None) -> None:
        """Node numbers are Flower's and new with every start, so they are in the log alone."""
        what = what if len(what) <= LONGEST else what[:LONGEST] + "…"
        self._events[Event(client, kind, what)] = None
        self.troubles.append(f"client {client}: {what}" + ("" if node is None else f" (node {node})"))

    def claims(self, events: Sequence[Event]) -> None:
        """What was not believed."""
        for event in events:
            self.trouble(event.client, event.detail, kind=event.kind)

    def stray(self, node: int, what: str) -> None:
        """Something of a node that is about no client."""
        self.troubles.append(f"node {node}: {what[:LONGEST]}")

    def events(self) -> list[Event]:
        """The troubles since this was asked last, by client: answers come in no order."""
        found, self._events = sorted(self._events, key=lambda event: event.client), {}
        return found

    def uploads(self, uploads: Sequence[Upload]) -> None:
        self._payloads = {str(one.client): hashlib.sha256(one.payload).hexdigest() for one in uploads}

    def decoded(self, seconds: Mapping[int, float]) -> None:
        self._decoding = {str(client): round(took, 6) for client, took in seconds.items()}

    def write(self, number: int | None) -> None:
        """Round `number` is over; None: nobody was ordered anything in it."""
        if self.log is not None and number is not None:
            line = {"round": number, "payloads": self._payloads, "decode_seconds": self._decoding}
            with appending(self.log) as file:
                file.write((json.dumps({**line, "troubles": self.troubles}) + "\n").encode())
        self.troubles, self._payloads, self._decoding = [], {}, {}
