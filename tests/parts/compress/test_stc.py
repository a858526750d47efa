"""Sparse ternary: the largest by sign and one mean, in about ten bits each."""

import numpy as np
import pytest

from compressing import array, compress_context, normal
from heteroselect.parts.compress.stc import STC
from heteroselect.parts.compress.topk import Rounding
from heteroselect.parts.compress.wire import encode


@pytest.mark.parametrize(
    ("v", "density", "sent"),
    [
        (array(4, -3, 1, 0.5), 0.5, [3.5, -3.5, 0, 0]),
        (array(4, -3, 1, -2), 1.0, [2.5, -2.5, 2.5, -2.5]),
        (array(1, -5, 2), 1e-6, [0, -5, 0]),  # one at least
        (array(1, -2, 2, 2, -2), 0.4, [0, -2, 2, 0, 0]),  # the lower index among equals
        (array(0, -3, 0, 1), 1.0, [0, -2, 0, 2]),  # a zero has no sign
    ],
)
def test_what_is_sent_by_hand(v: np.ndarray, density: float, sent: list[float]) -> None:
    assert STC().compress(v, density, compress_context(v.size))[0].dense().tolist() == sent


@pytest.mark.parametrize(("rounding", "kept"), [("floor", 2), ("ceil", 3)])
def test_kappa_is_rounded_as_asked(rounding: Rounding, kept: int) -> None:
    assert STC(rounding).compress(normal(10), 0.25, compress_context(10))[0].positions.size == kept


@pytest.mark.parametrize("density", [0.01, 0.1, 0.5])
def test_its_error(density: float) -> None:
    """What is kept loses its spread, the rest all: ‖v‖² − κμ²."""
    v = normal(1000)
    sent = STC().compress(v, density, compress_context(1000))[0]
    mean = float(np.abs(v[sent.positions]).mean(dtype=np.float64))
    error = float(np.sum((v.astype(np.float64) - sent.dense()) ** 2))
    assert error == pytest.approx(float(v @ v) - sent.positions.size * mean**2, rel=1e-5)
    assert error < (1 - density) * float(v @ v)


def test_the_code_size_of_the_paper() -> None:
    """p = 1/400: a sign and 10.114 bits of Golomb code a coordinate, 0.0278 bit a parameter; ours is no longer."""
    size = 400_000
    payload = encode(STC().compress(normal(size), 1 / 400, compress_context(1))[0])
    bits = 8 * (len(payload) - 27)
    assert bits / size == pytest.approx(0.0278, rel=0.03)
    assert 9 < (bits - 1000 - 64) / 1000 < 10.3
