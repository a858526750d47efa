"""How messages get to Flower's nodes, and answers back."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

from heteroselect.core.messages import Order
from heteroselect.engines.flower.records import BODY, HEADER, Header, RecordError, to_record
from heteroselect.errors import HeteroSelectError


class Transport(Protocol):
    """How messages get to nodes, and answers back: in any order, and only those that came in time. `nodes` are all
    that are there, each with the digest of the key that it is known by, "" where it has a new one with every start."""

    def nodes(self) -> Mapping[int, str]: ...
    def exchange(self, messages: Sequence[Message], timeout: float) -> list[Message]: ...


class GridPost:
    """Over a grid, looking for answers every `pause` seconds (Flower's own loop looks every 3). `keys`: the SuperLink
    lets in nodes with a registered key only. (Any other node makes a key when it starts, and Flower does not say which
    is which.)"""

    def __init__(self, grid: Grid, pause: float = 0.25, *, keys: bool = False) -> None:
        self.grid, self.pause, self.keys = grid, pause, keys

    def nodes(self) -> dict[int, str]:
        if not self.keys:
            return dict.fromkeys(self.grid.get_node_ids(), "")
        return {one.node_id: hashlib.sha256(one.public_key).hexdigest() for one in self.grid.get_nodes()}

    def exchange(self, messages: Sequence[Message], timeout: float) -> list[Message]:
        sent = list(self.grid.push_messages(messages))
        if len(sent) < len(messages):
            raise HeteroSelectError(
                f"flower: the SuperLink took {len(sent)} of {len(messages)} messages; allowed is what its limits let "
                "through."
            )
        waiting = {number: one.metadata.dst_node_id for number, one in zip(sent, messages, strict=True) if number}
        answers: list[Message] = []
        began = looked = time.monotonic()
        while waiting:
            for one in self.grid.pull_messages(list(waiting)):
                waiting.pop(one.metadata.reply_to_message_id, None)
                answers.append(one)
            now = time.monotonic()
            if not waiting or now - began > timeout:
                break
            if now - looked > 10:  # whoever has left the grid will not answer
                looked, there = now, self.nodes()
                waiting = {number: node for number, node in waiting.items() if node in there}
            time.sleep(self.pause)
        return answers


def message_to(
    node: int, header: Header, request: object, more: Mapping[str, ArrayRecord | ConfigRecord], patience: float
) -> Message:
    """A request to a node, with what else it needs. It lasts as long as it is waited for: a node that comes back is not
    handed an order of long ago."""
    content = RecordDict({HEADER: header.to_record(), BODY: to_record(request), **more})
    type_ = MessageType.TRAIN if header.kind == Order.__name__ else MessageType.QUERY
    return Message(content, node, type_, ttl=patience, group_id=str(header.round))


def content_of(message: Message) -> RecordDict:
    """What a node answered, or RecordError where it could not."""
    if message.has_error():
        raise RecordError(message.error.reason or f"its node failed with code {message.error.code}")
    return message.content
