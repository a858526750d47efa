"""The messages of a round to clients, and their answers.

Answers may come in any order, late, damaged or not at all: an answer counts only if it comes from the node that was
asked, in time, and whatever is missing is simply missing.
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Message, RecordDict
from numpy.typing import NDArray

from heteroselect.core.flat import Weights
from heteroselect.core.messages import Calibrate, Order, Question
from heteroselect.core.state import PartState
from heteroselect.engines.flower.down import LACKS, Down
from heteroselect.engines.flower.homes import NodeDirectory
from heteroselect.engines.flower.notes import LONGEST, Notes
from heteroselect.engines.flower.post import Transport, content_of, message_to
from heteroselect.engines.flower.records import BODY, REFUSED, Give, Header, RecordError
from heteroselect.errors import HeteroSelectError
from heteroselect.round.claims import FEWEST, bounded_speeds
from heteroselect.world import MeasuredLinks

Request = Question | Order | Give | Calibrate
SETTLED, UPLINK = "settled", "uplink"


@dataclass
class Exchange:
    """Messages over a post to so many clients. `kept` holds, for each client, which of its uploads were used, until it
    has answered that it knows: that is all the server keeps for it, and it goes into the checkpoints. `since` gives the
    oldest round that the server may have to fall back to. `links` takes in what nodes measured of their uplinks, each
    no further from the median than `claims` times. With `log`, each round's payloads are noted there by their SHA-256;
    `more` goes along with every message. `examples` are how many each client has, where the server knows; of the others
    the first claim holds for the whole run. `owners` are the digests of the keys that clients belong to."""

    post: Transport
    clients: int
    run: str
    kept: MutableMapping[int, PartState]
    claims: float
    since: Callable[[], int] = lambda: 0
    timeout: float = 600.0
    links: MeasuredLinks | None = None
    log: Path | None = None
    more: Mapping[str, ConfigRecord] = field(default_factory=dict)
    examples: Mapping[int, int] = field(default_factory=dict)
    owners: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.notes = Notes(self.log)
        self.homes = NodeDirectory(
            self.post, self.clients, self.notes, self.run, self.more, dict(self.examples), dict(self.owners)
        )
        self._there: dict[int, int] = {}  # the round of the last model that came as steps and was answered with
        self._measured: dict[int, tuple[int, int]] = {}
        if self.links is not None:
            self.links.estimates.update({k: float(one[UPLINK][0]) for k, one in self.kept.items() if UPLINK in one})

    def ask(
        self,
        requests: Sequence[Request],
        weights: Weights | None = None,
        shared: PartState | None = None,
    ) -> dict[int, RecordDict]:
        """The answers that came, by client; each is sent its request, with the model where it needs it, and again with
        all of the model where the steps that lead to it were not enough."""
        self.homes.meet(self.timeout)
        down = None if weights is None else Down(weights, shared)
        told, answers = self._send(requests, down)
        lacking = {client for client, content in answers.items() if LACKS in _body(content)}
        if lacking:
            again = self._send([one for one in requests if one.client in lacking], down, whole=True)[1]
            for client in sorted(client for client, one in again.items() if LACKS in _body(one)):
                self.notes.trouble(client, "it cannot use the model that it was sent")
            answers = {client: one for client, one in {**answers, **again}.items() if LACKS not in _body(one)}
        everybody = len(told) if all(isinstance(request, Order) for request in requests) else 0
        return self._willing(answers, everybody)

    def acknowledge(self, client: int, round: int, used: bool) -> None:
        """Remember what became of an upload; the client is told with the next message to it."""
        new = np.array([[round, used]], np.int64)
        self.kept[client] = {**self.kept.get(client, {}), SETTLED: np.concatenate([self._settled(client), new])}

    def _send(
        self, requests: Sequence[Request], down: Down | None, *, whole: bool = False
    ) -> tuple[set[int], dict[int, RecordDict]]:
        """Who was sent its request, and the answers that came. What is wrong with one is noted of those clients of its
        node that have given no other."""
        since, messages, told = self.since(), [], dict[int, int]()
        for request in requests:
            if request.client in self.homes.at:
                told[request.client] = request.round
                messages.append(self._message(request, since, down, whole))
            else:
                self.notes.trouble(request.client, "it has no node")
        answers: dict[int, RecordDict] = {}
        headers: dict[int, Header] = {}
        wrong: dict[int, list[str]] = {}  # by node: whom an answer is of is what may be wrong with it
        for message in self.post.exchange(messages, self.timeout):
            reasons = wrong.setdefault(message.metadata.src_node_id, [])
            try:
                header = self._asked(message, told)
            except RecordError as error:
                reasons.append(str(error))
            else:
                answers[header.client], headers[header.client] = message.content, header
        trail = None if down is None else down.weights.trail
        for client, content in answers.items():
            if trail is not None and LACKS not in _body(content):
                self._there[client] = trail.round
            settled = self._settled(client)
            if len(settled) > 1:  # it knows now; the last one says where it stands, should it be asked again
                self.kept[client] = {**self.kept[client], SETTLED: settled[-1:]}
        self.homes.silent = {self.homes.at[client] for client in told} - set(wrong)
        self._note_missing(set(told), set(answers), wrong)
        self._measure(headers)
        return set(told), answers

    def _message(self, request: Request, since: int, down: Down | None, whole: bool) -> Message:
        client = request.client
        settled = {int(round): bool(used) for round, used in self._settled(client)}
        header = Header(self.run, client, type(request).__name__, settled, since, request.round)
        model = {} if down is None else down.to(client, there=self._there.get(client), whole=whole)
        return message_to(self.homes.at[client], header, request, {**model, **self.more}, self.timeout)

    def _asked(self, message: Message, told: Mapping[int, int]) -> Header:
        """The header of an answer to what was told, which names its client; or RecordError."""
        node = message.metadata.src_node_id
        header = Header.read(content_of(message))
        mine = (self.run, told.get(header.client), self.homes.at.get(header.client))
        if (header.run, header.round, node) != mine:
            raise RecordError("an answer that nobody asked it for")
        return header

    def _note_missing(self, told: set[int], answered: set[int], wrong: Mapping[int, Sequence[str]]) -> None:
        """Note of each client that was told something why there is no answer of it; and of a node's clients what else
        is wrong with its answers."""
        blamed = set[int]()
        for node, reasons in wrong.items():
            mine = {client for client in told if self.homes.at[client] == node} if reasons else set()
            for client in sorted(mine - answered or mine):
                self.notes.trouble(client, "; ".join(dict.fromkeys(reasons)), node=node)
            blamed |= mine
            for reason in () if mine else reasons:  # Flower itself speaks, for a node that is gone
                self.notes.stray(node, reason)
        for client in sorted(told - answered - blamed):
            self.notes.trouble(client, "it did not answer")

    def _measure(self, headers: Mapping[int, Header]) -> None:
        """Add what nodes measured to the links, bounded by what is known of all; each measurement counts once."""
        if self.links is None:
            return
        of = {client: (self.homes.at[client], header.measurement) for client, header in sorted(headers.items())}
        new = {k: this for k, this in of.items() if this[1] and self._measured.get(k) != this}
        self._measured |= new
        claimed = {client: headers[client].uplink for client in new}
        speeds, events = bounded_speeds(claimed, self.links.estimates, self.claims)
        self.notes.claims(events)
        for client, speed in speeds.items():
            estimate = self.links.measured(client, speed)
            self.kept[client] = {**self.kept.get(client, {}), UPLINK: np.array([estimate])}

    def _willing(self, answers: dict[int, RecordDict], everybody: int) -> dict[int, RecordDict]:
        """The answers of those that could do as they were asked. One that could not is missing; where nobody in a whole
        cohort of three or more could, the settings are to blame, and the run ends as it does in the simulator."""
        bodies = {client: _body(content) for client, content in answers.items()}
        refused = {client: str(body[REFUSED]) for client, body in bodies.items() if REFUSED in body}
        if len(refused) == everybody >= FEWEST:
            raise HeteroSelectError(refused[min(refused)][:LONGEST])
        for client, why in refused.items():
            self.notes.trouble(client, why)
        return {client: content for client, content in answers.items() if client not in refused}

    def _settled(self, client: int) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self.kept.get(client, {}).get(SETTLED, np.empty((0, 2), np.int64))
        return found


def _body(content: RecordDict) -> Any:
    return content.get(BODY, {})
