"""What the tests of compressors share: a context to compress in, vectors, when two updates are the same, and a
compressor with a codec of its own, as a user would write it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from heteroselect.core.flat import FlatModel
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values
from heteroselect.parts.compress import CompressContext, PartState, wire
from heteroselect.parts.compress.codecs import Head
from heteroselect.parts.compress.codecs.bits import pack, packed_size, unpack
from heteroselect.parts.compress.codecs.float import BFLOAT16, FLOAT16
from heteroselect.parts.compress.grid import to_grid
from heteroselect.parts.compress.topk import kept_count, top_positions
from heteroselect.parts.compress.wire import WireError, decode


def unlooked() -> Tensor:
    raise AssertionError("no loss was to be asked for")


def compress_context(*sizes: int, seed: int = 0) -> CompressContext:
    """Layers of these sizes, and randomness."""
    model = FlatModel(nn.Sequential(*(nn.Linear(size, 1, bias=False) for size in sizes)))
    return CompressContext(model, unlooked, 0.0, False, np.random.default_rng(seed), torch.Generator())


class Bowl(nn.Module):
    """A layer whose loss Σ aᵢwᵢ²/2 has the Hessian diag(a)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(size))


def bowls(*sizes: int, seed: int = 0, state: PartState | None = None) -> CompressContext:
    """The same with a loss that can be probed: aᵢ = (i + 1)/100."""
    model = FlatModel(nn.Sequential(*(Bowl(size) for size in sizes)))
    a = torch.arange(1.0, sum(sizes) + 1) / 100

    def loss() -> Tensor:
        return 0.5 * (a * torch.cat([view.flatten() for view in model.views]) ** 2).sum()

    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    return CompressContext(model, loss, 0.25, False, rng, generator, state or {})


def array(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def spikes(size: int) -> np.ndarray:
    """Five large coordinates among small ones."""
    v = 0.01 * normal(size, 1)
    v[:5] = [5, -3, 2, 1, 0.5]
    return v


def normal(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)


def draws(part: Any, v: np.ndarray, density: float, count: int = 3000) -> np.ndarray:
    """What arrives, so many times."""
    context = compress_context(v.size)
    return np.stack([part.compress(v, density, context)[0].dense() for _ in range(count)]).astype(np.float64)


def variance(part: Any, v: np.ndarray, density: float, count: int = 3000) -> float:
    """The mean squared error of so many."""
    return float(np.mean(np.sum((draws(part, v, density, count) - v) ** 2, axis=1)))


BITS = {"float16": 16, "bfloat16": 16, "uniform2": 2, "uniform3": 3, "uniform4": 4, "uniform8": 8}


def coded(values: Values, kind: str, ends: np.ndarray, rng: np.random.Generator | None = None) -> Any:
    """Codes for the values; buckets up to `ends`; at random where `rng` is given."""
    if kind in ("float16", "bfloat16"):
        return (FLOAT16 if kind == "float16" else BFLOAT16).coded(values)
    return to_grid(values, (1 << BITS[kind]) - 1, ends, rng)


HEADER = wire._HEADER.size
FIELDS = ("size", "kept", "kind", "steps", "code", "buckets", "width")


def fields_of(payload: bytes) -> dict[str, int]:
    """What the header says."""
    return dict(zip(FIELDS, wire._HEADER.unpack_from(payload)[2:-1], strict=True))


def forged(payload: bytes, body: bytes | None = None, at: int | None = None, **changes: int) -> bytes:
    """A payload with other fields or another body (or a part of it from `at` on), and a checksum that fits: what a liar
    would send."""
    magic, version, *_ = wire._HEADER.unpack_from(payload)
    old, known = payload[HEADER:], tuple((fields_of(payload) | changes).values())
    new = old if body is None else body if at is None else old[: at - HEADER] + body + old[at - HEADER + len(body) :]
    return wire._HEADER.pack(magic, version, *known, wire._checksum(known, new)) + new


def assert_same(a: Update, b: Update) -> None:
    """To the bit, codes included."""
    assert a.size == b.size
    assert a.positions.tolist() == b.positions.tolist()
    assert a.values.tobytes() == b.values.tobytes()
    assert_equal(a.coded, b.coded)


def assert_equal(a: Any, b: Any) -> None:
    """Two values, arrays or objects of them are the same."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.tolist()) == (b.dtype, b.tolist())
    elif hasattr(a, "__dataclass_fields__"):
        for name in a.__dataclass_fields__:
            assert_equal(getattr(a, name), getattr(b, name))
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for name in a:
            assert_equal(a[name], b[name])
    else:
        assert a == b


def assert_whole_or_refused(payload: bytes, size: int, codecs: Any) -> None:
    """A payload is refused as it should be (for a reason that a codec gave), or is a whole update."""
    try:
        got = decode(payload, size, codecs)
    except WireError as error:
        if isinstance(error.__cause__, ValueError | None):
            return
        raise
    assert np.isfinite(got.values).all()
    assert got.values.shape == got.positions.shape
    assert (np.diff(got.positions) > 0).all()
    assert got.positions.size == 0 or 0 <= got.positions[0] <= got.positions[-1] < size


# A user's own: the largest coordinates, each as the nearest of a few levels.


@dataclass(frozen=True)
class Book:
    """Codes, and the level that each stands for."""

    codes: np.ndarray
    levels: Values

    @property
    def codec(self) -> "BookCodec":
        return BOOK

    def values(self) -> Values:
        values: Values = self.levels[self.codes]
        return values


class BookCodec:
    """Levels as float32, then the codes, of `steps` bits each."""

    code, whole = 200, False

    def pack(self, update: Update) -> tuple[Head, bytes]:
        book = update.coded
        assert isinstance(book, Book)
        bits = book.levels.size.bit_length() - 1
        levels = book.levels.astype("<f4").tobytes()
        return Head(update.size, book.codes.size, steps=bits), levels + pack(book.codes, bits)

    def unpack(self, head: Head, data: memoryview) -> tuple[Values, Book]:
        if not 1 <= head.steps <= 7 or head.buckets:
            raise ValueError("no such book")
        count = 1 << head.steps
        if len(data) != 4 * count + packed_size(head.kept, head.steps):
            raise ValueError("the book or the codes are cut short")
        levels = np.frombuffer(data[: 4 * count], "<f4").astype(np.float32)
        book = Book(unpack(data[4 * count :], head.kept, head.steps), levels)
        return book.values(), book


BOOK = BookCodec()


@dataclass(frozen=True)
class Codebook:
    """κ coordinates, each as the nearest of 2^bits quantiles of them."""

    kind: ClassVar[str] = "codebook"
    traits = Traits(own_values=True, takes_memory=True)
    needs_memory: ClassVar[bool] = True
    codec: ClassVar[BookCodec] = BOOK

    bits: int = setting(2, "bits of a code", ge=1, le=7)

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        positions = top_positions(np.abs(v), kept_count(density, v.size))
        count = 1 << self.bits
        levels = np.quantile(v[positions], (np.arange(count) + 0.5) / count).astype(np.float32)
        book = Book(np.abs(v[positions, None] - levels).argmin(1).astype(np.uint8), levels)
        return Update(v.size, positions, book.values(), book), {}
