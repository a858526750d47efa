"""The messages between server and clients as Flower's records, and back.

A message of `heteroselect.core.messages` becomes a ConfigRecord, field by field, whatever its fields are. Bytes of any
length (the model down, the payload up) travel as ONE uint8 array whose data are those very bytes: no header is
added and none is parsed. Nothing here or beyond ever loads a pickle; models are safetensors.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from heteroselect.core.flat import Weights
from heteroselect.round.claims import LABELS, is_label

RAW = "bytes"  # how the data of our arrays are serialised: not at all
BODY, HEADER, MODEL, PAYLOAD, REFUSED = "body", "header", "model", "payload", "refused"
NAMES, LONGEST = 64, 64  # of what a message reports: how many besides labels, and how long

Arrays = Mapping[str, NDArray[Any]]
M = TypeVar("M")


class RecordError(ValueError):
    """A message that is not what it should be."""


@dataclass(frozen=True)
class Header:
    """What goes with every message to a client: which run and round this is, whom it is for, whether the uploads of
    rounds that the client does not know it of yet were used (`settled`), and the oldest round that the server may fall
    back to. With an answer, what the node last measured of its uplink (bit/s), and which measurement that is."""

    run: str
    client: int
    kind: str
    settled: Mapping[int, bool] = field(default_factory=dict)
    since: int = 0
    round: int = 0
    uplink: float = 0.0
    measurement: int = 0

    def to_record(self) -> ConfigRecord:
        record = to_record(replace(self, settled={}))
        if self.settled:
            record["settled"] = [2 * round + used for round, used in self.settled.items()]
        return record

    @staticmethod
    def read(content: RecordDict) -> "Header":
        record = _config(content, HEADER)
        coded = record.get("settled", [])
        if not (isinstance(coded, list) and all(isinstance(number, int) for number in coded)):
            raise RecordError("its settled rounds are no whole numbers")
        uplink = record.get("uplink", 0.0)
        if not (isinstance(uplink, float) and 0 <= uplink < math.inf):
            raise RecordError("its uplink is no speed")
        return Header(
            run=str(record.get("run", "")),
            client=_whole(record, "client"),
            kind=str(record.get("kind", "")),
            settled={int(number) // 2: bool(int(number) % 2) for number in coded},
            since=_whole(record, "since"),
            round=_whole(record, "round"),
            uplink=uplink,
            measurement=_whole(record, "measurement"),
        )


@dataclass(frozen=True)
class Hello:
    """Server to node: which clients do you have?"""


@dataclass(frozen=True)
class Present:
    """Node to server: these, each with so many examples."""

    clients: list[int] = field(default_factory=list)
    examples: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Give:
    """Server to client: send what you learnt in this round and hold."""

    client: int
    round: int


@dataclass(frozen=True)
class Loss:
    """Client to server: its loss under the model it was asked about."""

    client: int
    loss: float


def to_record(message: object) -> ConfigRecord:
    """The fields of a message; bytes are left out, for they travel as an array, and so is what is None."""
    assert is_dataclass(message)
    found: dict[str, Any] = {}
    for one in fields(message):
        value = getattr(message, one.name)
        if isinstance(value, Mapping):
            found |= {f"{one.name}.{key}": _plain(inner) for key, inner in value.items()}
        elif not isinstance(value, bytes) and value is not None and not (isinstance(value, list) and not value):
            found[one.name] = _plain(value)
    return ConfigRecord(found)


def from_record(kind: type[M], content: RecordDict, *, record: str = BODY, **given: Any) -> M:
    """The message of this kind in a Flower message, or RecordError; `given` fields are not read from it."""
    config = _config(content, record)
    found: dict[str, Any] = {}
    for one in fields(kind):  # type: ignore[arg-type]
        start = one.name + "."
        inner = {key.removeprefix(start): value for key, value in config.items() if key.startswith(start)}
        if inner or "Mapping" in str(one.type):
            _refuse_many(one.name, inner)
            found[one.name] = inner
        elif one.name in config:
            found[one.name] = config[one.name]
    try:
        return kind(**{**found, **given})
    except TypeError as error:
        raise RecordError(f"it is no {kind.__name__}: {error}") from error


def to_bytes(weights: Weights, shared: Arrays | None = None) -> bytes:
    """A model, and what goes with it, as one stretch of bytes."""
    arrays = {"vector": weights.vector.numpy()}
    arrays |= {f"buffer.{name}": np.asarray(buffer.numpy(), order="C") for name, buffer in weights.buffers.items()}
    arrays |= {f"shared.{name}": np.asarray(array, order="C") for name, array in (shared or {}).items()}
    return bytes(save(arrays))


def from_bytes(data: bytes) -> tuple[Weights, dict[str, NDArray[Any]]]:
    try:
        arrays = load(data)
        vector = torch.from_numpy(arrays["vector"].copy())
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise RecordError(f"its model cannot be read ({error})") from error

    def group(prefix: str) -> dict[str, NDArray[Any]]:
        return {name.removeprefix(prefix): a.copy() for name, a in arrays.items() if name.startswith(prefix)}

    buffers = {name: torch.from_numpy(array) for name, array in group("buffer.").items()}
    return Weights(vector, buffers), group("shared.")


def to_array(data: bytes) -> ArrayRecord:
    return ArrayRecord({RAW: Array("uint8", (len(data),), RAW, data)})


def from_array(content: RecordDict, name: str) -> bytes:
    """The bytes of an array, or RecordError."""
    record = content.get(name)
    if not isinstance(record, ArrayRecord) or RAW not in record:
        raise RecordError(f"it has no {name}")
    return bytes(record[RAW].data)


def _config(content: RecordDict, name: str) -> ConfigRecord:
    record = content.get(name)
    if not isinstance(record, ConfigRecord):
        raise RecordError(f"it has no {name}")
    return record


def _refuse_many(field: str, names: Collection[str]) -> None:
    """A report is a few numbers; nobody fills the server with names of its own."""
    if sum(not is_label(name) for name in names) > NAMES or len(names) > NAMES + LABELS:
        raise RecordError(f"its {field} has more than {NAMES} names")
    if any(len(name) > LONGEST for name in names):
        raise RecordError(f"its {field} has a name of more than {LONGEST} characters")


def _whole(record: ConfigRecord, name: str) -> int:
    value = record.get(name, 0)
    if not isinstance(value, int):
        raise RecordError(f"its {name} is no whole number")
    return value


def _plain(value: Any) -> Any:
    """A number as Python's own: Flower takes no other."""
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
