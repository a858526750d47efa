"""The client's side: one function takes a Flower message and gives the answer to it.

What is computed is `heteroselect.client`'s business, as in the simulator; here messages are unpacked, the memory is
brought to where the server is, and the answer is packed.
"""

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from flwr.app import ConfigRecord, Context, Message, RecordDict
from torch import nn

from heteroselect import methods
from heteroselect.client import Client, Learnt, Task
from heteroselect.compress import Kept
from heteroselect.errors import HeteroSelectError
from heteroselect.evaluate import accuracy
from heteroselect.flat import FlatModel, Weights
from heteroselect.flat import Loss as LossFunction
from heteroselect.flower.memory import Memory
from heteroselect.flower.records import (
    BODY,
    HEADER,
    MODEL,
    PAYLOAD,
    REFUSED,
    Give,
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
from heteroselect.runs.experiment import prepare
from heteroselect.settings import MethodSettings
from heteroselect.settings.config import load

MEMORY = "HETEROSELECT_MEMORY"  # where a node keeps its clients' memories
SETTINGS = "settings"


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


def answer(
    message: Message,
    context: Context,
    *,
    model: nn.Module | Callable[[], nn.Module],
    data: Any,
    loss: LossFunction | None = None,
    method: Method | Callable[[MethodSettings], Method] | None = None,
    memory: Path | None = None,
) -> Message:
    """What a ClientApp of one's own returns for every train and query message of a HeteroSelectStrategy.

    `data` is what this client trains on: (x, y), a mapping with x and y, or a torch data set. Its number is the
    node's partition-id. `loss` takes (outputs, targets); the default is the cross entropy. A `method` of one's own is
    the strategy's; one of ours travels with the messages, by its name.
    """
    if "partition-id" not in context.node_config:
        raise HeteroSelectError("partition-id: the node config must have one; allowed are 0 to clients − 1.")
    number, record = int(context.node_config["partition-id"]), dict(message.content.get(SETTINGS, {}))
    tables = tomllib.loads(str(record["toml"]) if "toml" in record else "")
    if method is None and tables.get("method", {}).get("base"):
        raise HeteroSelectError(
            f"method: {tables['method']['name']!r} is not one of ours; hand it to `answer` as well."
        )
    config = load({**tables, "clients": 1, "selected": 1}, methods=methods.SETTINGS, own=True)
    alone = prepare(config, model=model, data=[data], test=data, method=method, loss=loss, metric=accuracy)
    clients = {number: Client(number, alone.federation.clients[0], alone.streams)}
    return reply(message, Site(clients, FlatModel(alone.module), alone.task, alone.method, memory or default_memory()))


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
    kept = memory.settle(header.settled, header.since, site.method, header.round)
    with _one_thread():
        try:
            record, payload = _work(content, header, site, memory, kept)
        except HeteroSelectError as error:  # a sentence for people; they are at the server
            record, payload = ConfigRecord({REFUSED: str(error)}), b""
    return _answer(message, header, record, payload)


def _work(content: RecordDict, header: Header, site: Site, memory: Memory, kept: Kept) -> tuple[ConfigRecord, bytes]:
    """Do what is asked, with the model that came along; the fields and the bytes of the answer."""
    client, model, task, method = site.clients[header.client], site.model, site.task, site.method
    if header.kind == Give.__name__:
        found = memory.held(header.round)
        if found is None:
            raise RecordError(f"nothing is held from round {header.round}")
        held, start = found
        model.load(from_bytes(start)[0])
        upload, pending = client.give(held, model, task, method, kept)
        memory.wait(pending)
        return to_record(upload), upload.payload
    start = from_array(content, MODEL)
    weights, shared = from_bytes(start)
    model.load(weights)
    if header.kind == Question.__name__:
        return to_record(Loss(client.id, client.loss(from_record(Question, content), model, task))), b""
    if header.kind == Order.__name__:
        upload, left = client.train(from_record(Order, content), model, task, method, kept, shared)
        memory.hold(left, start) if isinstance(left, Learnt) else memory.wait(left)
        return to_record(upload), upload.payload
    if header.kind == Calibrate.__name__:
        buffers = client.calibrate(from_record(Calibrate, content), model, task)
        return ConfigRecord({"client": client.id}), to_bytes(Weights(torch.empty(0), buffers))
    raise RecordError(f"nobody here knows what to do with {header.kind!r}")


def _answer(message: Message, header: Header, body: ConfigRecord, payload: bytes = b"") -> Message:
    own = Header(header.run, header.client, header.kind, round=header.round)
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
