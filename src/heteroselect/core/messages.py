"""What server and clients say to each other. Both engines carry exactly these."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """Server to client: what is your loss under this model, on up to `batches` mini-batches of `size`? They are a fixed
    subset of the client's data, or (`augmented`) fresh ones as in training."""

    client: int
    round: int
    batches: int
    size: int
    augmented: bool = False


@dataclass(frozen=True)
class Order:
    """Server to client: take so many steps at this rate, send this fraction, keep this much of the rest; or `hold` what
    was learnt, say how long it is, and send it only when asked."""

    client: int
    round: int
    rate: float
    density: float
    beta: float
    steps: int
    warmup: bool = False
    hold: bool = False


@dataclass(frozen=True)
class Upload:
    """Client to server: the update as bytes, and a `report` of how it came to be: the mean `loss` of its training and
    the root of its mean square, `rms` (of batches, or of single examples where a part needs "examples"); the `norm` of
    what it learnt and of what it keeps back, `memory`; `label0`, `label1`, … and `variance` where a part needs them."""

    client: int
    payload: bytes
    examples: int
    report: Mapping[str, float]


@dataclass(frozen=True)
class Calibrate:
    """Server to client: run so many batches through the model and send its batch-norm statistics back."""

    client: int
    round: int
    batches: int
    size: int
