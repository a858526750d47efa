"""Bytes and back: not a bit changes on the way, and nothing broken comes through."""

import struct
import tracemalloc
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from compressing import (
    BOOK,
    HEADER,
    Codebook,
    array,
    assert_same,
    assert_whole_or_refused,
    compress_context,
    fields_of,
    forged,
    normal,
)
from compressing import coded as encode_values
from heteroselect.core.update import Update
from heteroselect.parts.compress.codecs import Head
from heteroselect.parts.compress.codecs.float import BFLOAT16, FLOAT16
from heteroselect.parts.compress.codecs.grid import GRID
from heteroselect.parts.compress.drive import Drive
from heteroselect.parts.compress.grid import to_grid
from heteroselect.parts.compress.positions import ENTROPY, encode_positions
from heteroselect.parts.compress.ternary import Ternary
from heteroselect.parts.compress.wire import TABLE, WireError, decode, encode, table_with

HALVES = {FLOAT16.code, BFLOAT16.code}  # the one lie that no length gives away


def update(size: int, positions: list[int], values: list[float] | None = None) -> Update:
    values = values if values is not None else [0.5 + i for i in range(len(positions))]
    return Update(size, np.array(positions, np.int64), np.array(values, np.float32))


def quantised(size: int = 300, kept: int = 40, kind: str = "uniform4", seed: int = 0) -> Update:
    rng = np.random.default_rng(seed)
    positions = np.sort(rng.choice(size, kept, replace=False))
    coded = encode_values(rng.normal(size=kept).astype(np.float32), kind, np.array([kept // 2, kept]), rng)
    return Update(size, positions, coded.values(), coded)


SOME = {
    "all": update(3, [0, 1, 2]),
    "few": update(10, [1, 8]),
    "fewer": update(300, [7, 255]),
    "regular": update(4000, list(range(0, 4000, 37))),
    "4 bit": quantised(),
    "3 bit": quantised(kind="uniform3"),
    "half": quantised(kind="float16"),
    "brain": quantised(kind="bfloat16"),
    "rotated": Drive(6).compress(normal(304), 0.5, compress_context(4))[0],
    "tailed": Drive(6).compress(normal(300), 0.5, compress_context(4))[0],
    "ternary": Ternary(8, "energy").compress(
        np.repeat(array(1, 0, 3), 300)[:700] * normal(700), 0.5, compress_context(4)
    )[0],
    "a user's": Codebook().compress(normal(300), 0.2, compress_context(4))[0],
}
EACH = pytest.mark.parametrize("sent", SOME.values(), ids=SOME)
CODECS = table_with(BOOK)
NO_SCALES = [struct.pack("<f", scale) for scale in (np.nan, np.inf, -1.0)]


@st.composite
def updates(draw: st.DrawFn) -> Update:
    size = draw(st.integers(1, 100))
    positions = draw(st.one_of(st.just(set(range(size))), st.sets(st.integers(0, size - 1), max_size=12)))
    finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
    some = draw(st.lists(finite, min_size=1, max_size=12))
    return update(size, sorted(positions), [some[i % len(some)] for i in range(len(positions))])


@given(updates())
@example(update(1, [0], [-0.0]))
@example(update(5, [4], [2.0**-149]))  # the smallest denormal
@example(update(1000, [999], [-(2.0**-149)]))
@example(update(4, [0, 1, 2, 3], [3.4028234663852886e38, -0.0, 0.0, 1e-40]))
@example(update(2**31, [5, 2**31 - 1]))
@example(update(7, []))
@settings(deadline=None, max_examples=100)
def test_a_round_trip_changes_no_bit(sent: Update) -> None:
    got = decode(encode(sent), sent.size)
    assert got.size == sent.size
    assert got.positions.tolist() == sent.positions.tolist()
    assert got.values.tobytes() == sent.values.tobytes()
    assert (got.positions.dtype, got.values.dtype) == (np.int64, np.float32)


def test_the_bytes_are_those_of_the_format() -> None:
    payload = encode(update(3, [0, 1, 2], [1.0, -2.0, 0.5]))
    assert payload[:23] == b"HSW\x01" + struct.pack("<IIBBBII", 3, 3, 0, 0, 0, 0, 0)
    assert payload[HEADER:] == struct.pack("<3f", 1.0, -2.0, 0.5)


@EACH
def test_every_truncation_and_every_byte_more_is_noticed(sent: Update) -> None:
    payload = encode(sent)
    for broken in (*(payload[:length] for length in range(len(payload))), payload + b"\0"):
        with pytest.raises(WireError):
            decode(broken, sent.size, CODECS)


@EACH
def test_every_change_of_a_single_byte_is_noticed(sent: Update) -> None:
    payload = encode(sent)
    for at in range(len(payload)):
        for change in (1, 2, 16, 128, 255):
            broken = bytearray(payload)
            broken[at] ^= change
            with pytest.raises(WireError):
                decode(bytes(broken), sent.size, CODECS)


@EACH
def test_fields_that_lie_are_refused_though_the_checksum_fits(sent: Update) -> None:
    payload = encode(sent)
    known = fields_of(payload)
    lies: dict[str, Iterable[int]] = {
        "kept": (1, 301, 4001, 2**31, 2**32 - 1),
        "kind": range(256),
        "code": range(256),
        "buckets": (1, 3, 10**6, 2**32 - 1),
        "width": (1, 3, 10**6, 2**32 - 1),
        "steps": (1, 3, 250),
    }
    for name, values in lies.items():
        for value in values:
            same_width = name == "kind" and {value, known["kind"]} <= HALVES
            if value != known[name] and not same_width:
                with pytest.raises(WireError):
                    decode(forged(payload, **{name: value}), sent.size, CODECS)


@pytest.mark.parametrize("size", [1, 299, 301, 2**20])
def test_an_update_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(WireError, match=f"not an update of {size} coordinates"):
        decode(encode(update(300, [7, 255])), size)


@pytest.mark.parametrize("payload", [b"", b"HSW", b"\0" * 40, b"HSW\x02" + encode(SOME["all"])[4:]])
def test_what_is_no_update_at_all_is_refused(payload: bytes) -> None:
    with pytest.raises(WireError):
        decode(payload, 3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(WireError, match="not finite"):
        decode(encode(update(10, [0, 1], [1.0, value])), 10)


@pytest.mark.parametrize(("at", "lie"), [(0, struct.pack("<I", 2**32 - 1)), *((8, x) for x in NO_SCALES)])
def test_counts_and_scales_that_cannot_be_are_refused(at: int, lie: bytes) -> None:
    payload = encode(quantised())
    with pytest.raises(WireError, match="buckets do not fit"):
        decode(forged(payload, lie, HEADER + fields_of(payload)["width"] + at), 300)


@pytest.mark.parametrize("steps", [1, 2, 3, 6, 14, 255])
def test_any_grid_comes_back(steps: int) -> None:
    rng = np.random.default_rng(steps)
    values = rng.normal(size=50).astype(np.float32)
    coded = to_grid(values, steps, np.array([20, 50]), rng)
    got = decode(encode(Update(90, np.arange(50), coded.values(), coded)), 90)
    assert got.values.tobytes() == coded.values().tobytes()


def test_a_level_beyond_the_grid_is_refused() -> None:
    coded = to_grid(np.array([1.0, -1.0, 0.0], np.float32), 2, np.array([3]), None)
    payload = encode(Update(3, np.arange(3), coded.values(), coded))
    with pytest.raises(WireError, match="beyond its grid"):
        decode(forged(payload, payload[HEADER:-1] + b"\xff"), 3)


def test_positions_in_the_wrong_order_cannot_be_said() -> None:
    """Every code sends gaps or bits, so that what is decoded always rises; out of range is refused."""
    code, data = encode_positions(np.array([5, 900]), 1000, [1000])
    assert code == ENTROPY
    payload = encode(update(1000, [5, 900]))
    table = bytearray(data)
    struct.pack_into("<I", table, 6, 901)  # the segment is shorter than the vector
    with pytest.raises(WireError, match="positions are damaged"):
        decode(forged(payload, bytes(table) + payload[HEADER + len(data) :]), 1000)


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_a_mutated_payload_is_refused_or_is_an_update(data: st.DataObject) -> None:
    sent = data.draw(st.sampled_from(list(SOME.values())))
    payload = bytearray(encode(sent))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(HEADER, len(payload) - 1))
        payload[at] = data.draw(st.integers(0, 255))
    assert_whole_or_refused(forged(bytes(payload)), sent.size, CODECS)


def test_every_codec_of_the_table_is_tried_above() -> None:
    tried = {encode(sent)[HEADER - 15] for sent in SOME.values()}
    assert tried == set(CODECS) == {*TABLE, 200}


# Codecs of one's own


class Plain:
    """A codec of everything at once, from which bytes are read in as many ways as a test wants."""

    code, whole = 129, True

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)

    @property
    def codec(self) -> "Plain":
        return self

    def values(self) -> np.ndarray:
        return np.arange(3, dtype=np.float32)

    def pack(self, update: Update) -> tuple[Head, bytes]:
        return Head(update.size, 1, 7, 9), b"anything"

    def unpack(self, head: Head, data: memoryview) -> tuple[np.ndarray, "Plain"]:
        assert (head, bytes(data)) == (Head(3, 1, 7, 9), b"anything")
        answer = self.answers.pop()
        if isinstance(answer, type):
            raise answer("broken")
        return answer, self


def plain(*answers: object) -> tuple[bytes, Plain]:
    codec = Plain(*answers)
    return encode(Update(3, np.arange(3), codec.values(), codec)), codec


def test_a_users_codec_brings_its_update_back() -> None:
    sent = Codebook().compress(normal(500), 0.1, compress_context(4))[0]
    payload = encode(sent, [100, 500])
    assert_same(decode(payload, 500, CODECS), sent)
    assert encode(decode(payload, 500, CODECS), [100, 500]) == payload
    with pytest.raises(WireError, match="not an update"):
        decode(payload, 500)


def test_a_users_codec_may_do_without_positions() -> None:
    payload, codec = plain(np.arange(3, dtype=np.float32))
    got = decode(payload, 3, table_with(codec))
    assert got.dense().tolist() == [0, 1, 2]
    assert len(payload) == HEADER + len(b"anything")


@pytest.mark.parametrize("error", [ValueError, KeyError, ZeroDivisionError, MemoryError, struct.error, AssertionError])
def test_whatever_a_codec_raises_is_a_wire_error(error: type) -> None:
    payload, codec = plain(error)
    with pytest.raises(WireError, match=r"values are damaged.*broken"):
        decode(payload, 3, table_with(codec))


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 1.0, 2.0],
        np.arange(2, dtype=np.float32),
        np.arange(3.0),
        np.zeros((3, 1), np.float32),
        np.array([1, np.nan, 2], np.float32),
        None,
    ],
    ids=["no array", "too few", "doubles", "a matrix", "not finite", "nothing"],
)
def test_what_a_codec_gives_back_is_looked_at(values: object) -> None:
    payload, codec = plain(values)
    with pytest.raises(WireError, match=r"expected|not finite"):
        decode(payload, 3, table_with(codec))


@pytest.mark.parametrize("code", [0, 3, 127, 256, -1])
def test_a_users_codec_takes_no_kind_of_ours(code: int) -> None:
    assert table_with(None) is TABLE
    codec = Plain()
    codec.code = code
    with pytest.raises(ValueError, match="128 to 255"):
        table_with(codec)
    with pytest.raises(ValueError, match="128 to 255"):
        encode(Update(3, np.arange(3), codec.values(), codec))


def test_a_hostile_payload_allocates_little() -> None:
    """No more than about 100 bytes for each byte received, whatever the header claims."""
    size = 2_000_000
    honest = encode(update(size, list(range(0, size, 4000))))
    hostile = [
        forged(honest, kept=size),
        forged(honest, kept=size, kind=GRID.code, steps=1),
        forged(honest, code=1),
        forged(honest, code=2),
        forged(honest, width=2**32 - 1),
    ]
    for payload in hostile:
        tracemalloc.start()
        try:
            with pytest.raises(WireError):
                decode(payload, size)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 100 * len(payload)
