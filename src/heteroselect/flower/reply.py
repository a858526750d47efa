"""The client's side: one function takes a Flower message and gives the answer to it.

What is computed is `heteroselect.client`'s business, as in the simulator; here messages are unpacked, the memory is
brought to where the server is, and the answer is packed.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from flwr.app import ConfigRecord, Message, RecordDict

from heteroselect.client import Client, Task
from heteroselect.compress import Kept
from heteroselect.errors import HeteroSelectError
from heteroselect.flat import FlatModel, Weights
from heteroselect.flower.memory import Memory
from heteroselect.flower.records import (
    BODY,
    HEADER,
    MODEL,
    PAYLOAD,
    REFUSED,
    Header,
    Hello,
    Loss,
    Present,
    RecordError,
    from_array,
    from_bytes,
    from_record,
    to_array,
    to_bytes,
    to_record,
)
from heteroselect.flower.uplink import Uplink
from heteroselect.messages import Calibrate, Order, Question
from heteroselect.method import Method

MEMORY = "HETEROSELECT_MEMORY"  # where a node keeps its clients' memories


@dataclass(frozen=True)
class Site:
    """What a node brings: the clients that live there, and how they train."""

    clients: Mapping[int, Client]
    model: FlatModel
    task: Task
    method: Method
    memory: Path


def default_memory() -> Path:
    """HETEROSELECT_MEMORY, or a folder of the user's own."""
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(os.environ.get(MEMORY) or f"{home}/heteroselect/memory").expanduser()


def reply(message: Message, site: Site) -> Message:
    """The answer of one client to one message of the server."""
    content, header = message.content, Header.read(message.content)
    if header.kind == Hello.__name__:
        there = sorted(site.clients)
        present = Present(there, [len(site.clients[client].examples) for client in there])
        return _answer(message, header, to_record(present))
    if header.client not in site.clients:
        raise RecordError(f"no client {header.client} lives here")
    memory = Memory(site.memory, header.run, header.client)
    kept = memory.settle(header.settled, header.since, site.method)
    weights, shared = from_bytes(from_array(content, MODEL))
    with _one_thread():
        site.model.load(weights)
        try:
            record, payload = _work(content, header, site, memory, kept, shared)
        except HeteroSelectError as error:  # a sentence for people; they are at the server
            record, payload = ConfigRecord({REFUSED: str(error)}), b""
    return _answer(message, header, record, payload)


def _work(
    content: RecordDict, header: Header, site: Site, memory: Memory, kept: Kept, shared: Mapping[str, Any]
) -> tuple[ConfigRecord, bytes]:
    """Do what is asked, with the model that came along; the fields and the bytes of the answer."""
    client, model, task = site.clients[header.client], site.model, site.task
    if header.kind == Question.__name__:
        return to_record(Loss(client.id, client.loss(from_record(Question, content), model, task))), b""
    if header.kind == Order.__name__:
        order = from_record(Order, content)
        more = {"shared": shared} if shared else {}
        upload, pending = client.train(order, model, task, site.method, kept, **more)
        memory.wait(order.round, pending)
        return to_record(upload), upload.payload
    if header.kind == Calibrate.__name__:
        buffers = client.calibrate(from_record(Calibrate, content), model, task)
        return ConfigRecord({"client": client.id}), to_bytes(Weights(torch.empty(0), buffers))
    raise RecordError(f"nobody here knows what to do with {header.kind!r}")


def _answer(message: Message, header: Header, body: ConfigRecord, payload: bytes = b"") -> Message:
    own = Header(header.run, header.client, header.kind)
    if uplink := Uplink.here():
        own = replace(own, uplink=uplink.bits_per_second, measurement=uplink.number)
    content = RecordDict({HEADER: own.to_record(), BODY: body})
    if payload:
        content[PAYLOAD] = to_array(payload)
    return Message(content, reply_to=message)


@contextmanager
def _one_thread() -> Iterator[None]:
    """As in the simulator: with torch's threads go the bits of a client's update."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
