"""The client's side of a Flower app of one's own, whose server runs a HeteroSelectStrategy."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flwr.app import Context, Message
from torch import nn

from heteroselect import methods
from heteroselect.core.evaluate import accuracy
from heteroselect.core.flat import FlatModel, Loss
from heteroselect.engines.flower.reply import Site, default_memory, reply
from heteroselect.errors import HeteroSelectError
from heteroselect.files import parse_toml
from heteroselect.round.client import Client
from heteroselect.round.method import Method
from heteroselect.runs.experiment import prepare
from heteroselect.runs.own import Own
from heteroselect.settings.config import load

SETTINGS = "settings"  # the record that seed and method travel in


def answer(
    message: Message,
    context: Context,
    *,
    model: nn.Module | Callable[[], nn.Module],
    data: Any,
    loss: Loss | None = None,
    method: str | Method | None = None,
    settings: Mapping[str, Any] | None = None,
    memory: Path | None = None,
) -> Message:
    """What a ClientApp of one's own returns for every train and query message of a HeteroSelectStrategy.

    `data` is what this client trains on: (x, y), a mapping with x and y, or a torch data set. Its number is the
    node's partition-id. `loss` takes (outputs, targets); the default is the cross entropy. A method travels with the
    messages, as its kinds and settings. Code does not: where parts are one's own, `method` is the strategy's Method, or
    `settings` name their files again (`{"method.select.kind": "mine.py:Seldom"}`).
    """
    if "partition-id" not in context.node_config:
        raise HeteroSelectError("partition-id: the node config must have one; allowed are 0 to clients − 1.")
    number, record = int(context.node_config["partition-id"]), dict(message.content.get(SETTINGS, {}))
    tables = parse_toml(str(record["toml"]) if "toml" in record else "")
    name = str(tables.get("method", {}).get("name", "fedavg"))
    if method is None and name not in methods.REGISTRY:
        method = Method(name)  # all of its parts are in the table
    loaded = load({**tables, "clients": 1, "selected": 1}, method=method, changes=settings, own_model=True)
    alone = prepare(loaded, Own(model, [data], data, loss, accuracy))
    clients = {number: Client(number, alone.federation.clients[0], alone.streams)}
    return reply(message, Site(clients, FlatModel(alone.module), alone.task, alone.method, memory or default_memory()))
