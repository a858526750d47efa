"""Signs: one bit a coordinate, and an error that is known exactly."""

from typing import Literal

import numpy as np
import pytest

from compressing import array, compress_context, normal
from heteroselect.parts.compress.sign import Sign
from heteroselect.parts.compress.wire import encode


def test_signs_by_hand() -> None:
    v = array(3, -1, 2, -10, 0, 20)
    assert Sign().compress(v, 0.1, compress_context(3, 3))[0].dense().tolist() == [2, -2, 2, -10, 10, 10]
    fixed = Sign("step", 0.5).compress(v, 0.1, compress_context(3, 3))[0].dense()
    assert fixed.tolist() == [0.5, -0.5, 0.5, -0.5, 0.5, 0.5]


@pytest.mark.parametrize("way", ["mean", "step"])
def test_zero_counts_as_positive_and_nothing_else_does(way: Literal["mean", "step"]) -> None:
    sent = Sign(way, 1.0).compress(array(0, -0.0, 1e-45, -1e-45, 1e-30, -1e-30, 3e38, -3e38), 0.1, compress_context(8))[
        0
    ]
    assert np.sign(sent.values).tolist() == [1, 1, 1, -1, 1, -1, 1, -1]


def test_the_error_is_known_exactly() -> None:
    """(1 − φ)‖v‖² with φ = ‖v‖₁²/(N‖v‖²), layer by layer."""
    v = normal(1000)
    sent = Sign().compress(v, 0.1, compress_context(300, 700))[0].dense()
    for part in (slice(0, 300), slice(300, 1000)):
        layer = v[part].astype(np.float64)
        square, count = float(layer @ layer), layer.size
        phi = np.abs(layer).sum() ** 2 / (count * square)
        error = float(np.sum((layer - sent[part]) ** 2))
        assert error == pytest.approx((1 - phi) * square, rel=1e-6)


def test_one_bit_a_coordinate() -> None:
    v = normal(8000)
    assert len(encode(Sign().compress(v, 0.1, compress_context(5000, 3000))[0], [5000, 8000])) == 27 + 2 * 8 + 1000
    assert len(encode(Sign("step").compress(v, 0.1, compress_context(5000, 3000))[0], [5000, 8000])) == 27 + 8 + 1000
