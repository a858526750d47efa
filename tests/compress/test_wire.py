"""Bytes and back: not a bit changes on the way, and nothing broken comes through."""

import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heteroselect.compress.update import Update
from heteroselect.compress.wire import WireError, decode, encode

HEADER = 17
KEPT_AT, CODE_AT, CRC_AT = 8, 12, 13


def update(size: int, positions: list[int], values: list[float] | None = None) -> Update:
    values = values if values is not None else [0.5 + i for i in range(len(positions))]
    return Update(size, np.array(positions, np.int64), np.array(values, np.float32))


ALL = update(3, [0, 1, 2])
BITMAP = update(10, [1, 8])
INDICES = update(300, [7, 255])
EACH_CODE = pytest.mark.parametrize("sent", [ALL, BITMAP, INDICES], ids=["all", "bitmap", "indices"])


@st.composite
def updates(draw: st.DrawFn) -> Update:
    size = draw(st.integers(1, 100))
    positions = draw(st.one_of(st.just(set(range(size))), st.sets(st.integers(0, size - 1), min_size=1, max_size=12)))
    finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
    some = draw(st.lists(finite, min_size=1, max_size=12))
    return update(size, sorted(positions), [some[i % len(some)] for i in range(len(positions))])


@given(updates())
@example(update(1, [0], [-0.0]))
@example(update(5, [4], [2.0**-149]))  # the smallest denormal
@example(update(1000, [999], [-(2.0**-149)]))
@example(update(4, [0, 1, 2, 3], [3.4028234663852886e38, -0.0, 0.0, 1e-40]))
@settings(deadline=None, max_examples=50)
def test_a_round_trip_changes_no_bit(sent: Update) -> None:
    got = decode(encode(sent), sent.size)
    assert got.size == sent.size
    assert got.positions.tolist() == sent.positions.tolist()
    assert got.values.tobytes() == sent.values.tobytes()
    assert (got.positions.dtype, got.values.dtype) == (np.int64, np.float32)


@given(updates())
@settings(deadline=None, max_examples=50)
def test_positions_take_the_cheapest_form(sent: Update) -> None:
    size, kept = sent.size, len(sent.positions)
    positions = 0 if kept == size else min((size + 7) // 8, 4 * kept)
    assert len(encode(sent)) == HEADER + positions + 4 * kept


def test_the_bytes_are_those_of_the_format() -> None:
    payload = encode(update(10, [1, 8], [1.0, -2.0]))
    assert payload[:13] == b"HSU1" + bytes([10, 0, 0, 0, 2, 0, 0, 0, 1])
    assert payload[HEADER:] == bytes([0b01000000, 0b10000000]) + struct.pack("<2f", 1.0, -2.0)
    assert encode(INDICES)[HEADER : HEADER + 8] == bytes([7, 0, 0, 0, 255, 0, 0, 0])


@EACH_CODE
def test_every_truncation_is_noticed(sent: Update) -> None:
    payload = encode(sent)
    for length in range(len(payload)):
        with pytest.raises(WireError):
            decode(payload[:length], sent.size)


@EACH_CODE
def test_every_change_of_a_single_byte_is_noticed(sent: Update) -> None:
    payload = encode(sent)
    for at in range(len(payload)):
        for change in range(1, 256):
            broken = bytearray(payload)
            broken[at] ^= change
            with pytest.raises(WireError):
                decode(bytes(broken), sent.size)


@pytest.mark.parametrize("sent", [update(25, [3]), update(32, [16])], ids=["bitmap", "indices"])
def test_a_change_of_the_position_code_is_noticed_at_equal_length(sent: Update) -> None:
    broken = bytearray(encode(sent))
    broken[CODE_AT] ^= 3
    with pytest.raises(WireError):
        decode(bytes(broken), sent.size)


@EACH_CODE
def test_more_bytes_than_claimed_are_refused(sent: Update) -> None:
    with pytest.raises(WireError):
        decode(encode(sent) + b"\0", sent.size)


@EACH_CODE
@pytest.mark.parametrize("kept", [4, 301, 2**31, 2**32 - 1])
def test_a_claim_larger_than_the_payload_is_refused(sent: Update, kept: int) -> None:
    broken = bytearray(encode(sent))
    struct.pack_into("<I", broken, KEPT_AT, kept)
    with pytest.raises(WireError):
        decode(bytes(broken), sent.size)


def test_more_values_than_coordinates_are_refused() -> None:
    with pytest.raises(WireError, match="not an update of 3 coordinates"):
        decode(encode(update(3, [0, 1, 2, 2])), 3)


@pytest.mark.parametrize("size", [1, 299, 301, 2**20])
def test_an_update_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(WireError, match=f"not an update of {size} coordinates"):
        decode(encode(INDICES), size)


@pytest.mark.parametrize("payload", [b"", b"HSU1", b"\0" * 40, b"HSU2" + encode(ALL)[4:]])
def test_what_is_no_update_at_all_is_refused(payload: bytes) -> None:
    with pytest.raises(WireError):
        decode(payload, 3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("size", "positions"), [(2, [0, 1]), (10, [0, 1]), (300, [0, 1])])
def test_a_value_that_is_not_finite_is_refused(value: float, size: int, positions: list[int]) -> None:
    with pytest.raises(WireError, match="not finite"):
        decode(encode(update(size, positions, [1.0, value])), size)


@pytest.mark.parametrize(
    ("size", "positions"),
    [
        (300, [9, 8]),
        (300, [8, 8]),
        (300, [8, 300]),
        (300, [8, 2**32 - 1]),
        (10, [8, 8]),  # a bitmap with one bit fewer than values
    ],
)
def test_positions_out_of_order_or_range_are_refused(size: int, positions: list[int]) -> None:
    with pytest.raises(WireError, match="out of range or out of order"):
        decode(encode(update(size, positions)), size)


def test_the_checksum_is_checked() -> None:
    broken = bytearray(encode(ALL))
    broken[-1] ^= 1  # still a finite number, in a payload of the right length
    with pytest.raises(WireError, match="checksum"):
        decode(bytes(broken), 3)
    struct.pack_into("<I", broken, CRC_AT, 0)
    with pytest.raises(WireError, match="checksum"):
        decode(bytes(broken), 3)
