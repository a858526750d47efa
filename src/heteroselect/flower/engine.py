"""Clients beyond one machine: the round's messages go over a Flower grid.

Node ids are Flower's and new with every start; a client is known by its number (the partition), and nodes of which no
client is known are asked which clients they have. Where nodes have registered keys, a client belongs to one. Answers
may come in any order, late, damaged or not at all: an answer counts only if it comes from the node that was asked, in
time, and whatever is missing is simply missing.
"""

import logging
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from numpy.typing import NDArray
from torch import Tensor

from heteroselect.arrays import Counts
from heteroselect.claims import FEWEST, bounded_examples, bounded_speeds
from heteroselect.errors import HeteroSelectError
from heteroselect.flat import Layout, Weights
from heteroselect.flower.down import LACKS, Down
from heteroselect.flower.notes import LONGEST, Notes
from heteroselect.flower.owners import Owners
from heteroselect.flower.post import Post
from heteroselect.flower.records import (
    BODY,
    HEADER,
    PAYLOAD,
    REFUSED,
    Give,
    Header,
    Hello,
    Loss,
    Present,
    RecordError,
    Settled,
    from_array,
    from_bytes,
    from_record,
    to_record,
)
from heteroselect.messages import Calibrate, Order, Question, Upload
from heteroselect.state import Kept
from heteroselect.world import Event, MeasuredLinks

Request = Question | Order | Give | Calibrate

_log = logging.getLogger(__name__)
SETTLED, UPLINK = "settled", "uplink"
HUGE = 1e30  # beyond it a report is no measurement, and sums of reports would overflow
MOST = 10**12  # examples of a client: sums of them do not overflow
GROWTH = 1e6  # how many times as large as before (as 1 at least) batch-norm statistics may be
ARRIVAL = 300.0  # seconds in which all clients should have a node: to start takes longer than to answer
PATIENCE = 60.0  # seconds to wait for a node to name its clients, and until a silent one is asked again
LIFE_SIGN = 20.0  # seconds in which a node answers whose client another one claims


class FlowerEngine:
    """Clients on the nodes of a grid. `kept` holds, for each client, which of its uploads were used, until it has
    answered that it knows: that is all the server keeps for it, and it goes into the checkpoints. `since` gives the
    oldest round that the server may have to fall back to. `links` takes in what nodes measured of their uplinks, each
    no further from the median than `claims` times. With `log`, each round's payloads are noted there by their SHA-256;
    `more` goes along with every message. `examples` are how many each client has, where the server knows; of the others
    the first claim holds for the whole run. `owners` know which key each client belongs to."""

    def __init__(
        self,
        post: Post,
        layout: Layout,
        clients: int,
        *,
        run: str,
        kept: MutableMapping[int, Kept],
        claims: float,
        since: Callable[[], int] = lambda: 0,
        timeout: float = 600.0,
        links: MeasuredLinks | None = None,
        log: Path | None = None,
        more: Mapping[str, ConfigRecord] | None = None,
        examples: Mapping[int, int] | None = None,
        owners: Owners | None = None,
    ) -> None:
        self.post, self.layout, self.clients = post, layout, clients
        self.run, self.kept, self.since, self.timeout = run, kept, since, timeout
        self.notes, self.owners = Notes(log), owners or Owners()
        self.homes: dict[int, int] = {}
        self.examples = dict(examples or {})
        self.decode_seconds: dict[int, float] = {}  # of the uploads of the last round
        self._claimed = dict(self.examples)
        self._lived: dict[int, int] = {}  # the last home of each client, also where it is gone
        self._tried: dict[int, float] = {}  # when nodes were asked for their clients
        self._silent: set[int] = set()  # nodes that gave no answer at all when they were asked last
        self._there: dict[int, int] = {}  # the round of the last model that came as steps and was answered with
        self._ordered: dict[int, int] = {}  # the round of each order whose upload is not settled
        self.links, self.claims, self.more = links, claims, dict(more or {})
        self._measured: dict[int, tuple[int, int]] = {}
        if links is not None:
            links.estimates.update({k: float(one[UPLINK][0]) for k, one in kept.items() if UPLINK in one})

    def gather(self) -> None:
        """Wait until every client has a node."""
        patience = max(self.timeout, ARRIVAL)
        until, there = time.monotonic() + patience, -1
        self._meet(PATIENCE)
        while len(self.homes) < self.clients:
            if time.monotonic() > until:
                missing = [client for client in range(self.clients) if client not in self.homes]
                raise HeteroSelectError(
                    f"flower: {len(missing)} of {self.clients} clients have no node after {patience:g} s "
                    f"(the first is client {missing[0]}); start their SuperNodes, or lower `clients`."
                )
            if len(self.homes) != there:
                there = len(self.homes)
                _log.warning("%d of %d clients have a node; waiting for the others", there, self.clients)
            time.sleep(0.5)
            self._meet(PATIENCE)

    def losses(self, weights: Weights, questions: Sequence[Question]) -> list[float]:
        """Whoever does not answer, or not with a number, counts as the least informative of those who did. Where nobody
        did the run ends: of three asked or more, whatever they said, and of fewer where nobody else is there either.
        Else what one or two clients say would end it, and their losses are taken as 0."""
        found: dict[int, float] = {}
        for client, content in self._ask(questions, weights).items():
            try:
                loss = from_record(Loss, content, client=client).loss
                if not (isinstance(loss, float) and abs(loss) < HUGE):
                    raise RecordError(f"its loss is {loss}")
                found[client] = loss
            except RecordError as error:
                self.notes.trouble(client, str(error))
        alone = len(questions) == self.clients and not any(self._heard(question.client) for question in questions)
        if questions and not found and (len(questions) >= FEWEST or alone):
            last = self.notes.troubles[-1] if self.notes.troubles else "nobody answered"
            raise HeteroSelectError(
                f"flower: none of {len(questions)} clients gave its loss in {self.timeout:g} s ({last}); allowed is a "
                "longer --timeout, or a method.rate.start that the model does not diverge with."
            )
        least = min(found.values(), default=0.0)
        return [found.get(question.client, least) for question in questions]

    def train(self, weights: Weights, orders: Sequence[Order], shared: Kept) -> list[Upload]:
        """The uploads in the order of the orders."""
        self._ordered |= {order.client: order.round for order in orders}
        return self._uploads(self._ask(orders, weights, shared), orders)

    def collect(self, weights: Weights, clients: Sequence[int]) -> list[Upload]:
        """The uploads of these clients. They hold the model that they trained from: only the question goes down."""
        questions = [Give(client, self._ordered[client]) for client in clients]
        return self._uploads(self._ask(questions), questions)

    def troubles(self) -> list[Event]:
        """What went wrong with messages since this was asked last."""
        return self.notes.events()

    def decoded(self, seconds: Mapping[int, float]) -> None:
        """How long it took to decode each upload of the round."""
        self.decode_seconds = dict(seconds)
        self.notes.decoded(seconds)

    def sizes(self, bound: float) -> Counts:
        """How many examples each client is taken to have: no more than `bound` times the median of what all claim."""
        sizes, events = bounded_examples(np.array([self.examples[k] for k in range(self.clients)], np.int64), bound)
        for event in events:
            self.notes.trouble(event.client, event.detail, kind=event.kind)
        self.examples = dict(enumerate(sizes.tolist()))
        return sizes

    def _uploads(self, answers: Mapping[int, RecordDict], asked: Sequence[Order] | Sequence[Give]) -> list[Upload]:
        """One that cannot be read is handed on empty, for the round to reject; where none should come yet, it is
        left out."""
        uploads = []
        for one in asked:
            if one.client not in answers:
                continue
            holds = isinstance(one, Order) and one.hold
            content = answers[one.client]
            try:
                payload = b"" if holds else from_array(content, PAYLOAD)
                upload = from_record(Upload, content, client=one.client, payload=payload)
                if not _sound(upload):
                    raise RecordError("its report is not made of numbers")
                self._check_examples(one.client, upload.examples)
                upload = replace(upload, examples=self.examples[one.client])
            except RecordError as error:
                self.notes.trouble(one.client, str(error))
                upload = Upload(one.client, b"", 0, {})
            if not holds or "norm" in upload.report:
                uploads.append(upload)
        self.notes.uploads(uploads)
        return uploads

    def settle(self, used: Mapping[int, bool]) -> None:
        """Remember what became of these uploads; each client is told with the next message to it. The round is over."""
        self.notes.write(max(self._ordered.values(), default=None))
        for client in [client for client in used if client in self._ordered]:
            new = np.array([[self._ordered.pop(client), used[client]]], np.int64)
            self.kept[client] = {**self.kept.get(client, {}), SETTLED: np.concatenate([self._settled(client), new])}

    def calibrate(self, weights: Weights, request: Calibrate) -> dict[str, Tensor]:
        """Whoever does not answer leaves the statistics as they were."""
        content = self._ask([request], weights).get(request.client)
        if content is not None:
            try:
                buffers = from_bytes(from_array(content, PAYLOAD))[0].buffers
                if not _statistics_of(buffers, weights.buffers):
                    raise RecordError("its statistics are not of this model")
                if not _believable(buffers, weights.buffers):
                    raise RecordError(f"its statistics are more than {GROWTH:g} times those before")
                return buffers
            except RecordError as error:
                self.notes.trouble(request.client, str(error))
        return weights.buffers

    def _ask(
        self,
        requests: Sequence[Request],
        weights: Weights | None = None,
        shared: Kept | None = None,
    ) -> dict[int, RecordDict]:
        """The answers that came, by client; each is sent its request, with the model where it needs it, and again with
        all of the model where the steps that lead to it were not enough."""
        self._meet(min(PATIENCE, self.timeout))
        down = None if weights is None else Down(weights, shared)
        told, answers = self._exchange(requests, down)
        lacking = {client for client, content in answers.items() if LACKS in _body(content)}
        if lacking:
            again = self._exchange([one for one in requests if one.client in lacking], down, whole=True)[1]
            for client in sorted(client for client, one in again.items() if LACKS in _body(one)):
                self.notes.trouble(client, "it cannot use the model that it was sent")
            answers = {client: one for client, one in {**answers, **again}.items() if LACKS not in _body(one)}
        everybody = len(told) if all(isinstance(request, Order) for request in requests) else 0
        return self._willing(answers, everybody)

    def _exchange(
        self, requests: Sequence[Request], down: Down | None, *, whole: bool = False
    ) -> tuple[set[int], dict[int, RecordDict]]:
        """Who was sent its request, and the answers that came. What is wrong with one is noted of those clients of its
        node that have given no other."""
        since, told, rounds = self.since(), {}, {request.client: request.round for request in requests}
        messages = []
        for request in requests:
            client = request.client
            if client not in self.homes:
                self.notes.trouble(client, "it has no node")
                continue
            told[client] = self._settled(client)
            settled = tuple(Settled(int(round), bool(used)) for round, used in told[client])
            header = Header(self.run, client, type(request).__name__, settled, since, request.round)
            model = {} if down is None else down.to(client, there=self._there.get(client), whole=whole)
            content = RecordDict({HEADER: header.to_record(), BODY: to_record(request), **model, **self.more})
            messages.append(_message(content, self.homes[client], header.kind, request.round, self.timeout))
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
        self._silent = {self.homes[client] for client in told} - set(wrong)
        self._note_missing(set(told), set(answers), wrong)
        self._measure(headers)
        return set(told), answers

    def _note_missing(self, told: set[int], answered: set[int], wrong: Mapping[int, Sequence[str]]) -> None:
        """Note of each client that was told something why there is no answer of it; and of a node's clients what else
        is wrong with its answers."""
        blamed = set[int]()
        for node, reasons in wrong.items():
            mine = {client for client in told if self.homes[client] == node} if reasons else set()
            for client in sorted(mine - answered or mine):
                self.notes.trouble(client, "; ".join(dict.fromkeys(reasons)), node=node)
            blamed |= mine
            for reason in () if mine else reasons:  # Flower itself speaks, for a node that is gone
                self.notes.stray(node, reason)
        for client in sorted(told - answered - blamed):
            self.notes.trouble(client, "it did not answer")

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

    def _heard(self, client: int) -> bool:
        """Whether the client's node answered anything when it was asked last."""
        return client in self.homes and self.homes[client] not in self._silent

    def _asked(self, message: Message, told: Mapping[int, int]) -> Header:
        """The header of an answer to what was told, which names its client; or RecordError."""
        node = message.metadata.src_node_id
        header = Header.read(_content(message))
        mine = (self.run, told.get(header.client), self.homes.get(header.client))
        if (header.run, header.round, node) != mine:
            raise RecordError("an answer that nobody asked it for")
        return header

    def _measure(self, headers: Mapping[int, Header]) -> None:
        """Add what nodes measured to the links, bounded by what is known of all; each measurement counts once."""
        if self.links is None:
            return
        of = {client: (self.homes[client], header.measurement) for client, header in sorted(headers.items())}
        new = {k: this for k, this in of.items() if this[1] and self._measured.get(k) != this}
        self._measured |= new
        claimed = {client: headers[client].uplink for client in new}
        speeds, events = bounded_speeds(claimed, self.links.estimates, self.claims)
        for event in events:
            self.notes.trouble(event.client, event.detail, kind=event.kind)
        for client, speed in speeds.items():
            estimate = self.links.measured(client, speed)
            self.kept[client] = {**self.kept.get(client, {}), UPLINK: np.array([estimate])}

    def _meet(self, patience: float) -> None:
        """Ask nodes of which no client is known, now and then. (A node that starts again has a new number.) Where two
        claim the same client, the one that was there first keeps it for as long as it answers: it is asked again,
        unless it has just let a whole timeout pass."""
        there, now = self.post.nodes(), time.monotonic()
        self.homes = {client: node for client, node in self.homes.items() if node in there}
        self._tried = {node: when for node, when in self._tried.items() if node in there}
        strange = sorted(set(there) - set(self.homes.values()))
        new = [node for node in strange if now - self._tried.get(node, -PATIENCE) >= PATIENCE]
        self._tried |= dict.fromkeys(new, now)
        claims = {node: self._admitted(node, there[node], found) for node, found in self._hello(new, patience).items()}
        before = {self.homes[client] for found in claims.values() for client in found if client in self.homes}
        still = self._hello(sorted(before - self._silent), min(LIFE_SIGN, patience))
        taken: dict[int, str] = {}
        for node, found in claims.items():
            for client, examples in found.items():
                if client in taken or client in still.get(self.homes.get(client, -1), {}):
                    self.notes.trouble(client, "another node claims it, too", kind="claim", node=node)
                else:
                    self._move(client, node, examples)
                    taken[client] = there[node]
        self.owners.bind(taken)

    def _admitted(self, node: int, key: str, found: Mapping[int, int]) -> dict[int, int]:
        """Those of the clients found that a node with this key may have."""
        for client in found:
            if not self.owners.admits(client, key):
                self.notes.trouble(client, "a node with another key claims it", kind="claim", node=node)
        return {client: examples for client, examples in found.items() if self.owners.admits(client, key)}

    def _move(self, client: int, node: int, examples: int) -> None:
        """The client is at this node from now on. How many examples it has was said before, and stays."""
        self.examples.setdefault(client, examples)
        self._check_examples(client, examples)
        if self._lived.get(client, node) != node:
            self.notes.trouble(client, "it is at another node than before", node=node)
        self.homes[client] = self._lived[client] = node

    def _check_examples(self, client: int, examples: int) -> None:
        """Note a claim that is not the first one, which counts."""
        known = self._claimed.setdefault(client, examples)
        if known != examples:
            self.notes.trouble(client, f"it claims {examples} examples, and {known} are registered", kind="claim")

    def _hello(self, nodes: Sequence[int], patience: float) -> dict[int, dict[int, int]]:
        """Which clients each node that answers has, and how many examples each."""
        hello = RecordDict(
            {HEADER: Header(self.run, 0, Hello.__name__).to_record(), BODY: to_record(Hello()), **self.more}
        )
        messages = [_message(hello, node, Hello.__name__, 0, patience) for node in nodes]
        found: dict[int, dict[int, int]] = {}
        for message in self.post.exchange(messages, patience) if messages else []:
            node = message.metadata.src_node_id
            try:
                present = from_record(Present, _content(message))
                pairs = {int(c): int(n) for c, n in zip(present.clients, present.examples, strict=True)}
                found[node] = {c: n for c, n in pairs.items() if 0 <= c < self.clients and 0 < n <= MOST}
            except (ValueError, TypeError, OverflowError) as error:
                self.notes.stray(node, str(error))
        return found

    def _settled(self, client: int) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self.kept.get(client, {}).get(SETTLED, np.empty((0, 2), np.int64))
        return found


def _message(content: RecordDict, node: int, kind: str, round: int, patience: float) -> Message:
    """A message that lasts as long as it is waited for: a node that comes back is not handed an order of long ago."""
    type_ = MessageType.TRAIN if kind == Order.__name__ else MessageType.QUERY
    return Message(content, node, type_, ttl=patience, group_id=str(round))


def _content(message: Message) -> RecordDict:
    """What a node answered, or RecordError where it could not."""
    if message.has_error():
        raise RecordError(message.error.reason or f"its node failed with code {message.error.code}")
    return message.content


def _body(content: RecordDict) -> Any:
    return content.get(BODY, {})


def _sound(upload: Upload) -> bool:
    """Whether its numbers are numbers, and its lengths lengths."""
    numbers = [upload.examples, *upload.report.values()]
    if not all(isinstance(number, int | float) and abs(number) < HUGE for number in numbers):
        return False
    return all(upload.report.get(name, 0.0) >= 0 for name in ("norm", "rms", "memory"))


def _statistics_of(found: Mapping[str, Tensor], like: Mapping[str, Tensor]) -> bool:
    """Whether they could be those of this model: the same names and shapes, finite, and no variance below 0."""
    shapes = [{name: (buffer.shape, buffer.dtype) for name, buffer in one.items()} for one in (found, like)]
    if shapes[0] != shapes[1] or not all(bool(buffer.isfinite().all()) for buffer in found.values()):
        return False
    return all(bool((buffer >= 0).all()) for name, buffer in found.items() if name.endswith("running_var"))


def _believable(found: Mapping[str, Tensor], before: Mapping[str, Tensor]) -> bool:
    """Whether no statistic is out of all proportion to those before: one such client would undo the model."""
    return all(
        float(buffer.abs().max()) <= min(HUGE, GROWTH * max(1.0, float(before[name].abs().max())))
        for name, buffer in found.items()
        if buffer.numel()
    )
