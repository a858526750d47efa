"""Sparse ternary: the largest by sign and one mean, in about ten bits each."""

import numpy as np
import pytest

from compressing import array, compress_context, normal
from heteroselect.parts.compress.memory import ErrorMemory
from heteroselect.parts.compress.stc import STC
from heteroselect.parts.compress.topk import Rounding
from heteroselect.parts.compress.wire import encode


def test_four_by_hand() -> None:
    v = array(4, -3, 1, 0.5)
    sent = STC().compress(v, 0.5, compress_context(4))[0]
    assert sent.dense().tolist() == [3.5, -3.5, 0, 0]
    memory = ErrorMemory(decay="static", static=1.0)
    assert memory.update_state({"residual": v}, sent, 1.0)["residual"].tolist() == [0.5, 0.5, 1, 0.5]


@pytest.mark.parametrize(("rounding", "kept"), [("floor", 2), ("ceil", 3)])
def test_kappa_is_rounded_as_asked(rounding: Rounding, kept: int) -> None:
    assert STC(rounding).compress(normal(10), 0.25, compress_context(10))[0].positions.size == kept


def test_at_least_one_is_sent() -> None:
    assert STC().compress(array(1, -5, 2), 1e-6, compress_context(3))[0].dense().tolist() == [0, -5, 0]


def test_among_equals_the_lower_index_is_sent() -> None:
    assert STC().compress(array(1, -2, 2, 2, -2), 0.4, compress_context(5))[0].dense().tolist() == [0, -2, 2, 0, 0]


def test_density_one_is_the_sign_of_all() -> None:
    assert STC().compress(array(4, -3, 1, -2), 1.0, compress_context(4))[0].dense().tolist() == [2.5, -2.5, 2.5, -2.5]


def test_zeros_are_never_sent() -> None:
    assert STC().compress(array(0, -3, 0, 1), 1.0, compress_context(4))[0].dense().tolist() == [0, -2, 0, 2]


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
