"""Positions as bytes: exact, close to the entropy, and suspicious of what they are given."""

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from heteroselect.compress.positions import (
    ALL,
    BITMAP,
    ENTROPY,
    GAPS,
    CodingError,
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


@pytest.mark.parametrize("density", [0.001, 0.01, 0.05, 0.12, 0.2, 0.28, 0.5])
def test_a_random_mask_costs_its_entropy(density: float) -> None:
    kept = round(density * ALEXNET)
    positions = np.sort(np.random.default_rng(0).choice(ALEXNET, kept, replace=False))
    _, data = round_trip(positions, ALEXNET)
    assert len(data) <= 1.02 * entropy_bytes(ALEXNET, kept) + 64


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
