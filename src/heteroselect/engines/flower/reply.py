"""The client's side: one function takes a Flower message and returns the answer to it.

What is computed is `heteroselect.round.client`'s business, as in the simulator; here messages are unpacked, the memory
is brought to where the server is, and the answer is packed.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from flwr.app import ConfigRecord, Message, RecordDict

from heteroselect.core.flat import FlatModel, Weights
from heteroselect.core.messages import Calibrate, Order, Question
from heteroselect.core.state import State
from heteroselect.engines.flower.down import LACKS, LacksModelError, received
from heteroselect.engines.flower.memory import Memory
from heteroselect.engines.flower.records import (
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
    from_bytes,
    from_record,
    to_array,
    to_bytes,
    to_record,
)
from heteroselect.engines.flower.uplink import Uplink
from heteroselect.errors import HeteroSelectError
from heteroselect.round.client import Client, Learnt, Task, Worker
from heteroselect.round.method import Method

MEMORY = "HETEROSELECT_MEMORY"  # where a node keeps its clients' memories


@dataclass(frozen=True)
class Site:
    """What a node has: its clients, and how they train."""

    clients: Mapping[int, Client]
    model: FlatModel
    task: Task
    method: Method
    memory: Path
    start: Weights | None = None
    """The initial model, where the node knows it."""


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
        raise RecordError(f"client {header.client} is not here")
    memory = Memory(site.memory, header.run, header.client)
    state = memory.acknowledge(header.settled, header.since, site.method, header.round)
    with _one_thread():
        try:
            record, payload = _work(content, header, site, memory, state)
        except HeteroSelectError as error:  # a sentence for people; they are at the server
            record, payload = ConfigRecord({REFUSED: str(error)}), b""
        except LacksModelError:
            record, payload = ConfigRecord({LACKS: True}), b""
    return _answer(message, header, record, payload)


def _work(content: RecordDict, header: Header, site: Site, memory: Memory, state: State) -> tuple[ConfigRecord, bytes]:
    """The fields and the bytes of the answer, once what is asked for is done with the model that came along."""
    client, model, task = site.clients[header.client], site.model, site.task
    worker = Worker(client, model, task, site.method)
    if header.kind == Give.__name__:
        found = memory.held(header.round)
        if found is None:
            raise RecordError(f"nothing is held from round {header.round}")
        held, start = found
        model.load(from_bytes(start)[0])
        upload, pending = worker.give(held, state)
        memory.wait(pending)
        return to_record(upload), upload.payload
    weights, shared = received(content, memory, site.start)
    model.load(weights)
    if header.kind == Question.__name__:
        return to_record(Loss(client.id, client.loss(from_record(Question, content), model, task))), b""
    if header.kind == Order.__name__:
        upload, left = worker.train(from_record(Order, content), state, shared)
        memory.hold(left, to_bytes(weights)) if isinstance(left, Learnt) else memory.wait(left)
        return to_record(upload), upload.payload
    if header.kind == Calibrate.__name__:
        buffers = client.calibrate(from_record(Calibrate, content), model, task)
        return ConfigRecord({"client": client.id}), to_bytes(Weights(torch.empty(0), buffers))
    raise RecordError(f"unknown kind of message {header.kind!r}")


def _answer(message: Message, header: Header, body: ConfigRecord, payload: bytes = b"") -> Message:
    own = Header(header.run, header.client, header.kind, round=header.round)
    if uplink := Uplink.read():
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
