"""The messages of a round to clients, and their answers.

Answers may come in any order, late, damaged or not at all: an answer counts only if it comes from the node that was
asked, in time, and whatever is missing is simply missing.
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
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
from heteroselect.engines.flower.records import BODY, REFUSED, Give, Header, RecordError, Settled
from heteroselect.errors import HeteroSelectError
from heteroselect.round.claims import FEWEST, bounded_speeds
from heteroselect.world import MeasuredLinks

Request = Question | Order | Give | Calibrate
SETTLED, UPLINK = "settled", "uplink"


class Exchange:
    """Messages over a post. `kept` holds, for each client, which of its uploads were used, until it has answered that
    it knows. `since` gives the oldest round that the server may have to fall back to. `links` takes in what nodes
    measured of their uplinks, each no further from the median than `claims` times. `more` goes along with every
    message."""

    def __init__(
        self,
        post: Transport,
        homes: NodeDirectory,
        notes: Notes,
        *,
        run: str,
        kept: MutableMapping[int, PartState],
        claims: float,
        since: Callable[[], int],
        timeout: float,
        links: MeasuredLinks | None,
        more: Mapping[str, ConfigRecord],
    ) -> None:
        self.post, self.homes, self.notes = post, homes, notes
        self.run, self.kept, self.since, self.timeout = run, kept, since, timeout
        self.links, self.claims, self.more = links, claims, more
        self._there: dict[int, int] = {}  # the round of the last model that came as steps and was answered with
        self._measured: dict[int, tuple[int, int]] = {}
        if links is not None:
            links.estimates.update({k: float(one[UPLINK][0]) for k, one in kept.items() if UPLINK in one})

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
        since, told, rounds = self.since(), {}, {request.client: request.round for request in requests}
        messages = []
        for request in requests:
            client = request.client
            if client not in self.homes.at:
                self.notes.trouble(client, "it has no node")
                continue
            told[client] = self._settled(client)
            settled = tuple(Settled(int(round), bool(used)) for round, used in told[client])
            header = Header(self.run, client, type(request).__name__, settled, since, request.round)
            model = {} if down is None else down.to(client, there=self._there.get(client), whole=whole)
            messages.append(message_to(self.homes.at[client], header, request, {**model, **self.more}, self.timeout))
        answers: dict[int, RecordDict] = {}
        headers: dict[int, Header] = {}
        wrong: dict[int, list[str]] = {}  # by node: whom an answer is of is what may be wrong with it
        for message in self.post.exchange(messages, self.timeout):
            reasons = wrong.setdefault(message.metadata.src_node_id, [])
            try:
                header = self._asked(message, {client: rounds[client] for client in told})
            except RecordError as error:
                reasons.append(str(error))
                continue
            who = header.client
            answers[who], headers[who] = message.content, header
            if down is not None and down.weights.trail is not None and LACKS not in _body(message.content):
                self._there[who] = down.weights.trail.round
            if len(told[who]) > 1:  # it knows now; the last one says where it stands, should it be asked again
                self.kept[who] = {**self.kept[who], SETTLED: told[who][-1:]}
        self.homes.silent = {self.homes.at[client] for client in told} - set(wrong)
        self._note_missing(set(told), set(answers), wrong)
        self._measure(headers)
        return set(told), answers

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
        for event in events:
            self.notes.trouble(event.client, event.detail, kind=event.kind)
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
