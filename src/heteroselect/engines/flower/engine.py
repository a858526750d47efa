"""Clients beyond one machine: the round's messages go over a Flower grid.

What a round wants to know is asked (`Exchange`) of the nodes that the clients are at (`NodeDirectory`); the answers are
checked, and what can be believed is handed on. Whatever is missing is simply missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flwr.app import RecordDict
from torch import Tensor

from heteroselect.core.arrays import Counts
from heteroselect.core.flat import Layout, Weights
from heteroselect.core.messages import Calibrate, Order, Question, Upload
from heteroselect.core.state import PartState
from heteroselect.engines.flower.checks import check_loss, check_statistics, check_upload
from heteroselect.engines.flower.exchange import Exchange
from heteroselect.engines.flower.records import PAYLOAD, Give, Loss, RecordError, from_array, from_bytes, from_record
from heteroselect.errors import HeteroSelectError
from heteroselect.round.claims import FEWEST
from heteroselect.world import Event


class FlowerEngine:
    """Clients on the nodes of a grid."""

    def __init__(self, exchange: Exchange, layout: Layout) -> None:
        self.layout, self.exchange, self.homes, self.notes = layout, exchange, exchange.homes, exchange.notes
        self.decode_seconds: dict[int, float] = {}  # of the uploads of the last round
        self._ordered: dict[int, int] = {}  # the round of each order whose upload is not settled

    def gather(self) -> None:
        """Wait until every client has a node."""
        self.homes.gather(self.exchange.timeout)

    def losses(self, weights: Weights, questions: Sequence[Question]) -> list[float]:
        """Whoever does not answer, or not with a number, counts as the least informative of those who did. Where nobody
        did the run ends: of three asked or more, whatever they said, and of fewer where nobody else is there either.
        Else what one or two clients say would end it, and their losses are taken as 0."""
        found: dict[int, float] = {}
        for client, content in self.exchange.ask(questions, weights).items():
            try:
                found[client] = check_loss(from_record(Loss, content, client=client).loss)
            except RecordError as error:
                self.notes.trouble(client, str(error))
        if questions and not found:
            heard = any(self.homes.heard(question.client) for question in questions)
            if len(questions) >= FEWEST or (len(questions) == self.exchange.clients and not heard):
                last = self.notes.troubles[-1] if self.notes.troubles else "nobody answered"
                raise HeteroSelectError(
                    f"flower: none of {len(questions)} clients gave its loss in {self.exchange.timeout:g} s ({last}); "
                    "allowed is a longer --timeout, or a method.lr.start that the model does not diverge with."
                )
        least = min(found.values(), default=0.0)
        return [found.get(question.client, least) for question in questions]

    def train(self, weights: Weights, orders: Sequence[Order], shared: PartState) -> list[Upload]:
        """The uploads in the order of the orders."""
        self._ordered |= {order.client: order.round for order in orders}
        return self._uploads(self.exchange.ask(orders, weights, shared), orders)

    def collect(self, weights: Weights, clients: Sequence[int]) -> list[Upload]:
        """The uploads of these clients. They hold the model that they trained from: only the question goes down."""
        questions = [Give(client, self._ordered[client]) for client in clients]
        return self._uploads(self.exchange.ask(questions), questions)

    def troubles(self) -> list[Event]:
        """What went wrong with messages since this was asked last."""
        return self.notes.events()

    def decoded(self, seconds: Mapping[int, float]) -> None:
        """How long it took to decode each upload of the round."""
        self.decode_seconds = dict(seconds)
        self.notes.decoded(seconds)

    def sizes(self, bound: float) -> Counts:
        """How many examples each client is taken to have: no more than `bound` times the median of what all claim."""
        return self.homes.sizes(bound)

    def acknowledge(self, used: Mapping[int, bool]) -> None:
        """Remember what became of these uploads; each client is told with the next message to it. The round is over."""
        self.notes.write(max(self._ordered.values(), default=None))
        for client in used:
            if client in self._ordered:
                self.exchange.acknowledge(client, self._ordered.pop(client), used[client])

    def calibrate(self, weights: Weights, request: Calibrate) -> dict[str, Tensor]:
        """Whoever does not answer leaves the statistics as they were."""
        content = self.exchange.ask([request], weights).get(request.client)
        if content is not None:
            try:
                buffers = from_bytes(from_array(content, PAYLOAD))[0].buffers
                check_statistics(buffers, weights.buffers)
                return buffers
            except RecordError as error:
                self.notes.trouble(request.client, str(error))
        return weights.buffers

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
                check_upload(upload)
                upload = replace(upload, examples=self.homes.registered(one.client, upload.examples))
            except RecordError as error:
                self.notes.trouble(one.client, str(error))
                upload = Upload(one.client, b"", 0, {})
            if not holds or "norm" in upload.report:
                uploads.append(upload)
        self.notes.uploads(uploads)
        return uploads
