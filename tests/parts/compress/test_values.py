"""Values in few bits: what the codes stand for, and how far from the truth it may be."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compressing import BITS
from compressing import coded as encode_values
from heteroselect.parts.compress import UniformValues, Update
from heteroselect.parts.compress.codecs.bits import pack, packed_size, unpack
from heteroselect.parts.compress.grid import to_grid

UNIFORM = ["uniform2", "uniform3", "uniform4", "uniform8"]


def one_bucket(values: np.ndarray) -> np.ndarray:
    return np.array([values.size], np.int64)


def test_four_levels_by_hand() -> None:
    # two bits and a largest value of 3: levels −3, −1, 1, 3
    values = np.array([3.0, -3.0, 0.9, -0.2, 1.9, 2.1], np.float32)
    coded = encode_values(values, "uniform2", one_bucket(values))
    assert coded.codes.tolist() == [3, 0, 2, 1, 2, 3]
    assert coded.values().tolist() == pytest.approx([3, -3, 1, -1, 1, 3])


@pytest.mark.parametrize("kind", UNIFORM)
def test_the_largest_value_of_a_bucket_is_exact(kind: str) -> None:
    values = np.array([0.1, -0.7, 0.3, 5.5, 1.0, -2.0], np.float32)
    coded = encode_values(values, kind, np.array([3, 6]))
    assert coded.scales.tolist() == [np.float32(0.7), np.float32(5.5)]
    assert coded.values()[[1, 3]].tolist() == [np.float32(-0.7), np.float32(5.5)]


@given(
    st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=40),
    st.sampled_from(UNIFORM),
    st.booleans(),
)
@settings(deadline=None)
def test_rounding_stays_within_a_step(numbers: list[float], kind: str, random: bool) -> None:
    values = np.array(numbers, np.float32)
    rng = np.random.default_rng(0) if random else None
    coded = encode_values(values, kind, one_bucket(values), rng)
    step = 2 * float(np.abs(values).max()) / ((1 << BITS[kind]) - 1)
    error = np.abs(coded.values().astype(np.float64) - values).max()
    rounding = 1e-6 * float(np.abs(values).max())  # of float32, on the way back
    assert error <= step * (1 if random else 0.5) + rounding


@pytest.mark.parametrize("kind", UNIFORM)
def test_random_rounding_is_unbiased(kind: str) -> None:
    values = np.repeat(np.array([1.0, 0.3, -0.11], np.float32), 40_000)
    coded = encode_values(values, kind, one_bucket(values), np.random.default_rng(3))
    step = 2 / ((1 << BITS[kind]) - 1)
    means = coded.values().reshape(3, -1).mean(1)
    assert means == pytest.approx([1.0, 0.3, -0.11], abs=4 * step / 2 / np.sqrt(40_000) + 1e-6)


def test_a_bucket_is_a_layer() -> None:
    update = Update(12, np.array([0, 5, 6, 11]), np.array([1, 2, -3, 4], np.float32))
    sent = UniformValues(2, "nearest").apply(update, [4, 8, 12], np.random.default_rng())
    assert sent.coded.ends.tolist() == [1, 3, 4]
    assert sent.coded.scales.tolist() == [1, 3, 4]


def test_halves_are_those_of_numpy_and_never_infinite() -> None:
    values = np.array([1 / 3, -1e6, 7e4, 1e-9], np.float32)
    found = encode_values(values, "float16", np.empty(0, np.int64)).values()
    assert found.tolist() == [float(np.float16(1 / 3)), -65504.0, 65504.0, 0.0]


def test_bfloat16_is_that_of_torch_and_never_infinite() -> None:
    powers = 10.0 ** np.arange(-20, 20).repeat(25)
    values = (np.random.default_rng(5).normal(size=1000) * powers).astype(np.float32)
    found = encode_values(values, "bfloat16", np.empty(0, np.int64)).values()
    assert found.tolist() == torch.from_numpy(values).bfloat16().float().tolist()
    largest = np.array([3.4e38, -3.4e38], np.float32)
    assert np.isfinite(encode_values(largest, "bfloat16", np.empty(0, np.int64)).values()).all()


def side_by_side(codes: list[int], bits: int) -> bytes:
    """The definition: all codes as one string of bits, filled up with zeros to whole bytes."""
    text = "".join(f"{code:0{bits}b}" for code in codes)
    text += "0" * (-len(text) % 8)
    return bytes(int(text[at : at + 8], 2) for at in range(0, len(text), 8))


def test_packing_by_hand() -> None:
    assert pack(np.array([1, 2, 3], np.uint8), 3) == bytes([0b00101001, 0b10000000])
    assert pack(np.array([10, 5, 15], np.uint8), 4) == bytes([0xA5, 0xF0])


@given(st.integers(1, 8), st.data())
@settings(deadline=None)
def test_packing_is_its_definition(bits: int, data: st.DataObject) -> None:
    codes = data.draw(st.lists(st.integers(0, (1 << bits) - 1), max_size=40))
    packed = side_by_side(codes, bits)
    assert pack(np.array(codes, np.uint8), bits) == packed
    found = unpack(packed, len(codes), bits)
    assert found.tolist() == codes
    assert found.dtype == np.uint8


@pytest.mark.parametrize("count", [0, 1, 7, 1000])
def test_codes_of_sixteen_bits_come_back(count: int) -> None:
    codes = np.random.default_rng(0).integers(0, 1 << 16, count).astype(np.uint16)
    data = pack(codes, 16)
    assert len(data) == packed_size(count, 16) == 2 * count
    assert unpack(data, count, 16).tolist() == codes.tolist()


def test_signs_and_ternary_values_are_grids_too() -> None:
    values = np.array([0.9, -0.2, 0.0, -0.8], np.float32)
    signs = to_grid(values, 1, np.array([4]), None, np.array([0.5], np.float32))
    assert signs.values().tolist() == [0.5, -0.5, 0.5, -0.5]
    assert signs.bits == 1
    ternary = to_grid(values, 2, np.array([4]), None)
    assert ternary.values().tolist() == pytest.approx([0.9, 0.0, 0.0, -0.9])
    assert ternary.bits == 2
