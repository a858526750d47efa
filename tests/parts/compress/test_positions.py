"""Positions as bytes: exact, close to the entropy, and suspicious of what they are given."""

import struct

import constriction
import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from heteroselect.parts.compress.positions import (
    ALL,
    BITMAP,
    ENTROPY,
    GAPS,
    SLACK,
    CodingError,
    Segment,
    _from_gap_bytes,
    _gap_bytes,
    decode_positions,
    encode_positions,
    entropy_bytes,
)

pytestmark = pytest.mark.slow  # masks of millions

ALEXNET = 2_781_514


def round_trip(positions: np.ndarray, size: int, layers: list[int] | None = None) -> tuple[int, bytes]:
    code, data = encode_positions(positions, size, layers or [size])
    assert decode_positions(code, data, size, positions.size).tolist() == positions.tolist()
    return code, data


@st.composite
def masks(draw: st.DrawFn) -> tuple[np.ndarray, int, list[int]]:
    size = draw(st.integers(1, 400))
    kept = draw(st.sets(st.integers(0, size - 1), max_size=size))
    cuts = draw(st.sets(st.integers(1, size), max_size=5))
    return np.array(sorted(kept), np.int64), size, sorted(cuts | {size})


@given(masks())
@settings(deadline=None, max_examples=300)
def test_every_mask_comes_back(mask: tuple[np.ndarray, int, list[int]]) -> None:
    positions, size, layers = mask
    round_trip(positions, size, layers)


def test_the_entropy_of_a_small_mask() -> None:
    # C(10, 3) = 120
    assert entropy_bytes(10, 3) == pytest.approx(np.log2(120) / 8)
    assert entropy_bytes(10, 0) == entropy_bytes(10, 10) == 0


def test_layers_of_different_density_are_coded_apart() -> None:
    rng = np.random.default_rng(1)
    dense, sparse = np.flatnonzero(rng.random(50_000) < 0.6), np.flatnonzero(rng.random(200_000) < 0.02)
    positions = np.concatenate([dense, sparse + 50_000])
    _, together = round_trip(positions, 250_000)
    _, apart = round_trip(positions, 250_000, [50_000, 250_000])
    bound = entropy_bytes(50_000, dense.size) + entropy_bytes(200_000, sparse.size)
    assert len(apart) <= 1.02 * bound + 64
    assert len(apart) < 0.9 * len(together)


@pytest.mark.parametrize(
    ("positions", "size"),
    [
        (np.arange(0), 1),
        (np.arange(0), 10_000),
        (np.arange(1), 1),
        (np.array([2**31 - 1]), 2**31),
        (np.array([0, 2**31 - 1]), 2**31),
        (np.arange(5000), 5000),
        (np.arange(5000) + 5000, 10_000),
    ],
    ids=["none of one", "none", "one of one", "last of 2^31", "ends of 2^31", "all", "second half"],
)
def test_the_corners(positions: np.ndarray, size: int) -> None:
    round_trip(positions.astype(np.int64), size)


def test_a_million_of_two_thousand_million() -> None:
    size = 2**31
    positions = np.unique(np.random.default_rng(2).integers(0, size, 1_000_000))
    _, data = round_trip(positions, size)
    assert len(data) <= 1.02 * entropy_bytes(size, positions.size) + 64


def test_clustered_masks_take_another_code() -> None:
    blocks = (np.arange(40)[:, None] * 5000 + np.arange(1000)).ravel()
    code, data = round_trip(blocks, 200_000)
    assert code in (BITMAP, GAPS)
    assert len(data) < 0.1 * entropy_bytes(200_000, blocks.size)


@pytest.mark.parametrize(
    ("density", "size", "code"),
    [
        (0.05, ALEXNET, GAPS),
        (0.2, ALEXNET, GAPS),
        (0.28, ALEXNET, BITMAP),
        (0.5, ALEXNET, BITMAP),
        (0.2, 3000, ENTROPY),
        (0.01, ALEXNET, ENTROPY),
        (0.001, ALEXNET, ENTROPY),
    ],
)
def test_a_random_mask_costs_its_entropy_and_a_faster_code_is_taken_where_it_is_nearly_as_small(
    density: float, size: int, code: int
) -> None:
    positions = np.sort(np.random.default_rng(3).choice(size, round(density * size), replace=False))
    found, data = round_trip(positions, size)
    assert found == code
    least = entropy_bytes(size, positions.size)
    assert len(data) <= (1.01 * least + 24 if code == ENTROPY else SLACK * least)


@given(st.lists(st.sampled_from([0, 1, 7, 253, 254, 255, 256, 509, 510, 511, 5000]), max_size=30))
@settings(deadline=None)
def test_gap_bytes_are_their_definition(gaps: list[int]) -> None:
    data = _gap_bytes(np.array(gaps, np.int64))
    assert data.tolist() == [byte for gap in gaps for byte in [255] * (gap // 255) + [gap % 255]]
    expected = [sum(gaps[: i + 1]) + i for i in range(len(gaps))]
    assert _from_gap_bytes(data, len(gaps)).tolist() == expected


def entropy_coded(segments: list[Segment], upper: int) -> bytes:
    """The bytes of gaps that all have the same upper part, and low bits that are all set."""
    coder = constriction.stream.stack.AnsCoder()
    for segment in reversed(segments):
        coder.encode_reverse(np.full(segment.kept, upper, np.int32), segment.model())
    words = coder.get_compressed()
    table = b"".join(struct.pack("<IIBH", s.size, s.kept, s.low, s.most) for s in segments)
    low = -(-sum(s.kept * s.low for s in segments) // 8)
    return struct.pack("<HI", len(segments), len(words)) + table + words.astype("<u4").tobytes() + b"\xff" * low


def test_gaps_beyond_the_vector_are_refused() -> None:
    """2²¹ gaps of 2³² − 1 each: their sum is taken where it cannot wrap around."""
    segment = Segment(size=2**21 + 1, kept=2**21, low=31, most=0)
    with pytest.raises(CodingError, match="out of range"):
        decode_positions(ENTROPY, entropy_coded([segment], 1), segment.size, segment.kept)


def test_a_table_longer_than_the_gaps_can_be_is_refused() -> None:
    """One kept of a hundred leaves out 99 at most: 99 >> 2 is 24."""
    for most, low in ((99, 0), (24, 2)):
        honest, longer = (Segment(100, 1, low, entries) for entries in (most, most + 1))
        assert decode_positions(ENTROPY, entropy_coded([honest], 0), 100, 1).tolist() == [(1 << low) - 1]
        with pytest.raises(CodingError, match="table of segments does not fit"):
            decode_positions(ENTROPY, entropy_coded([longer], 0), 100, 1)


@pytest.mark.parametrize(("count", "each", "kept"), [(65_535, 90, 1), (1025, 300, 30), (1000, 300, 1), (3, 30, 1)])
def test_more_segments_than_are_worth_it_are_refused_before_they_are_decoded(count: int, each: int, kept: int) -> None:
    """Eleven bytes of the table have to be less than there is to say of the positions. (65,535 tables took seconds.)"""
    table = struct.pack("<IIBH", each, kept, 0, each - kept) * count
    with pytest.raises(CodingError, match="more segments than"):
        decode_positions(ENTROPY, struct.pack("<HI", count, 0) + table, count * each, count * kept)


@pytest.mark.parametrize("count", [1, 7, 500])
def test_what_the_dearest_valid_payload_makes_the_decoder_build_is_bounded(count: int, monkeypatch) -> None:
    """Tables are what costs: one for each segment, here with as many entries as a liar may say that its gaps are long.
    They are fewer than coordinates, and the segments than there are bytes for them."""
    segments = [Segment(1024, 40, 0, 984)] * count
    data, built, model = entropy_coded(segments, 1), [], Segment.model
    monkeypatch.setattr(Segment, "model", lambda segment: built.append(segment) or model(segment))
    assert decode_positions(ENTROPY, data, 1024 * count, 40 * count).size == 40 * count
    assert built == segments
    assert 11 * len(built) < len(data)
    assert sum(segment.most + 1 for segment in built) <= 1024 * count


@pytest.mark.parametrize(("count", "apart"), [(2, True), (1024, True), (1025, False), (70_000, False)])
def test_a_model_of_however_many_layers_is_read_again(count: int, apart: bool) -> None:
    """Every second layer is empty, so that layers are worth taking apart as long as there may be so many."""
    each = 10_000 if count < 2000 else 20
    chances = np.where(np.arange(count) % 2, 0.03, 0)[:, None]
    positions = np.flatnonzero(np.random.default_rng(count).random((count, each), np.float32) < chances)
    code, data = round_trip(positions, count * each, (np.arange(1, count + 1) * each).tolist())
    assert (code == ENTROPY and struct.unpack_from("<H", data)[0] == count) == apart


def test_a_bitmap_with_more_than_it_claims_is_refused() -> None:
    full = zstandard.ZstdCompressor().compress(b"\xff" * 125)
    with pytest.raises(CodingError, match="missing or out of range"):
        decode_positions(BITMAP, full, 1000, 300)


@pytest.mark.parametrize("code", [BITMAP, GAPS])
def test_bytes_behind_a_compressed_block_are_refused(code: int) -> None:
    """0, 8, 16, … as bits and as gaps; both are read as they are, and not with a byte more."""
    block = zstandard.ZstdCompressor().compress(b"\x80" * 125 if code == BITMAP else b"\0" + b"\x07" * 124)
    assert decode_positions(code, block, 1000, 125).tolist() == list(range(0, 1000, 8))
    with pytest.raises(CodingError, match="damaged"):
        decode_positions(code, block + b"\0", 1000, 125)


def test_a_bomb_is_refused_by_its_announcement() -> None:
    bomb = zstandard.ZstdCompressor().compress(b"\0" * 100_000_000)
    for code in (BITMAP, GAPS):
        with pytest.raises(CodingError, match="announces a size"):
            decode_positions(code, bomb, 1000, 500)


@pytest.mark.parametrize("code", [BITMAP, GAPS])
def test_a_code_that_would_allocate_much_for_few_is_refused(code: int) -> None:
    with pytest.raises(CodingError, match="so few"):
        decode_positions(code, b"", 2**31, 1)


@pytest.mark.parametrize("code", [ALL, BITMAP, GAPS, ENTROPY, 4, 255])
@pytest.mark.parametrize("data", [b"", b"\0", b"\xff" * 40, bytes(range(60))])
def test_noise_is_refused(code: int, data: bytes) -> None:
    with pytest.raises(CodingError):
        decode_positions(code, data, 1000, 300)


@given(masks(), st.binary(max_size=80), st.sampled_from([BITMAP, GAPS, ENTROPY]), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=300)
def test_whatever_is_decoded_is_rising_and_in_range(mask, noise, code, random) -> None:
    """Bytes of an honest code with a piece overwritten: either refused, or positions that could be."""
    positions, size, layers = mask
    _, data = encode_positions(positions, size, layers)
    at = random.randrange(len(data) + 1)
    try:
        found = decode_positions(code, data[:at] + noise + data[at + len(noise) :], size, positions.size)
    except CodingError:
        return
    assert found.size == positions.size
    assert (np.diff(found) > 0).all()
    assert found.size == 0 or (found[0] >= 0 and found[-1] < size)
