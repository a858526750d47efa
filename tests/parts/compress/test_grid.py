"""Codes without zeros: the same vector in fewer bits."""

import numpy as np
import pytest

from heteroselect.core.update import Update
from heteroselect.parts.compress.codecs.grid import Grid
from heteroselect.parts.compress.grid import to_grid, without_zeros
from heteroselect.parts.compress.wire import decode, encode


def coded(codes: list[int], scales: list[float], ends: list[int], steps: int = 2) -> Grid:
    return Grid(np.array(codes, np.uint8), np.array(scales, np.float32), np.array(ends, np.int64), steps)


def test_zeros_and_empty_buckets_go() -> None:
    sent = without_zeros(12, coded([1, 1, 1, 2, 1, 1, 1, 1, 1, 0, 1, 1], [5, 9, 3, 7], [4, 6, 8, 12]))
    assert sent.positions.tolist() == [3, 9]
    assert sent.values.tolist() == [5, -7]
    assert sent.coded is not None
    assert sent.coded.codes.tolist() == [2, 0]
    assert sent.coded.scales.tolist() == [5, 7]
    assert sent.coded.ends.tolist() == [1, 2]


def test_a_bucket_of_scale_zero_is_zero_whatever_its_codes() -> None:
    sent = without_zeros(6, coded([0, 0, 2, 1, 1, 2], [0, 4], [3, 6]))
    assert sent.positions.tolist() == [5]
    assert sent.values.tolist() == [4]


def test_nothing_but_zeros_is_an_empty_update() -> None:
    sent = without_zeros(4, coded([1, 1, 0, 2], [5, 0], [2, 4]))
    assert sent.positions.size == sent.values.size == 0
    assert decode(encode(sent), 4).dense().tolist() == [0] * 4


def test_few_zeros_stay() -> None:
    # five codes of two bits and log₂ 6 for where they stand are more than six codes
    sent = without_zeros(6, coded([0, 2, 0, 0, 2, 0], [3, 0], [5, 6]))
    assert sent.is_dense
    assert sent.values.tolist() == [-3, 3, -3, -3, 3, 0]
    assert not np.signbit(sent.values[5])


@pytest.mark.parametrize("steps", [2, 8, 254])
@pytest.mark.parametrize("zeros", [0.0, 0.1, 0.3, 0.5, 0.7, 0.99])
def test_the_same_vector_in_no_more_bytes(steps: int, zeros: float) -> None:
    rng = np.random.default_rng(0)
    v = rng.normal(size=4000).astype(np.float32)
    v[rng.random(4000) < zeros] = 0
    full = to_grid(v, steps, np.array([1000, 4000]), rng)
    plain = Update(4000, np.arange(4000), full.values(), full)
    sent = without_zeros(4000, full)
    assert sent.dense().tolist() == full.values().tolist()
    assert len(encode(sent)) <= len(encode(plain)) * 1.01
    back = decode(encode(sent), 4000)
    assert back.values.tobytes() == sent.values.tobytes()
    assert back.positions.tolist() == sent.positions.tolist()
