"""Sparse ternary: the largest by sign and one mean, in about ten bits each."""

import numpy as np
import pytest

from compressing import array, assert_same, normal, scene
from heteroselect.compress.memory import ErrorMemory
from heteroselect.compress.stc import STC
from heteroselect.compress.topk import Rounding
from heteroselect.compress.wire import decode, encode


def test_four_by_hand() -> None:
    v = array(4, -3, 1, 0.5)
    sent = STC().compress(v, 0.5, scene(4))
    assert sent.dense().tolist() == [3.5, -3.5, 0, 0]
    memory = ErrorMemory(decay="static", static=1.0)
    assert memory.settle({"memory": v}, sent, 1.0)["memory"].tolist() == [0.5, 0.5, 1, 0.5]


@pytest.mark.parametrize(("rounding", "kept"), [("floor", 2), ("ceil", 3)])
def test_kappa_is_rounded_as_asked(rounding: Rounding, kept: int) -> None:
    assert STC(rounding).compress(normal(10), 0.25, scene(10)).positions.size == kept


def test_at_least_one_is_sent() -> None:
    assert STC().compress(array(1, -5, 2), 1e-6, scene(3)).dense().tolist() == [0, -5, 0]


def test_among_equals_the_lower_index_is_sent() -> None:
    assert STC().compress(array(1, -2, 2, 2, -2), 0.4, scene(5)).dense().tolist() == [0, -2, 2, 0, 0]


def test_density_one_is_the_sign_of_all() -> None:
    assert STC().compress(array(4, -3, 1, -2), 1.0, scene(4)).dense().tolist() == [2.5, -2.5, 2.5, -2.5]


def test_zeros_are_never_sent() -> None:
    assert STC().compress(array(0, -3, 0, 1), 1.0, scene(4)).dense().tolist() == [0, -2, 0, 2]


@pytest.mark.parametrize("density", [0.01, 0.1, 0.5])
def test_its_error(density: float) -> None:
    """What is kept loses its spread, the rest all: ‖v‖² − κμ²."""
    v = normal(1000)
    sent = STC().compress(v, density, scene(1000))
    mean = float(np.abs(v[sent.positions]).mean(dtype=np.float64))
    error = float(np.sum((v.astype(np.float64) - sent.dense()) ** 2))
    assert error == pytest.approx(float(v @ v) - sent.positions.size * mean**2, rel=1e-5)
    assert error < (1 - density) * float(v @ v)


def test_the_code_size_of_the_paper() -> None:
    """p = 1/400: a sign and 10.114 bits of Golomb code a coordinate, 0.0278 bit a parameter; ours is no longer."""
    size = 400_000
    payload = encode(STC().compress(normal(size), 1 / 400, scene(1)))
    bits = 8 * (len(payload) - 27)
    assert bits / size == pytest.approx(0.0278, rel=0.03)
    assert 9 < (bits - 1000 - 64) / 1000 < 10.3


PARTS = pytest.mark.parametrize("part", [STC(), STC("ceil")])


@PARTS
@pytest.mark.parametrize("density", [0.01, 0.2, 1.0])
@pytest.mark.parametrize("v", [normal(1300), normal(1300) ** 9, array(0, 0, -2), array(-1e-45, 3e38), array(5)])
def test_not_a_bit_changes_on_the_way(part: STC, density: float, v: np.ndarray) -> None:
    layers = (1000, 300) if v.size == 1300 else (v.size,)
    sent = part.compress(v, density, scene(*layers))
    assert_same(decode(encode(sent, np.cumsum(layers).tolist()), v.size), sent)


@PARTS
def test_one_seed_one_update(part: STC) -> None:
    v = normal(3000)
    first, again = (part.compress(v, 0.1, scene(1000, 2000, seed=3)) for _ in range(2))
    assert_same(first, again)
    assert_same(part.compress(v, 0.1, scene(1000, 2000, seed=4)), first)


@PARTS
def test_the_vector_is_left_alone(part: STC) -> None:
    v = normal(600)
    part.compress(v, 0.1, scene(100, 500))
    assert v.tobytes() == normal(600).tobytes()


@PARTS
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_coordinate_that_is_not_finite_is_refused(part: STC, bad: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        part.compress(array(1, bad, 2), 0.5, scene(3))


@PARTS
@pytest.mark.parametrize("density", [0.1, 1.0])
def test_nothing_comes_of_nothing(part: STC, density: float) -> None:
    v = np.zeros(900, np.float32)
    sent = part.compress(v, density, scene(500, 400))
    assert not sent.dense().any()
    assert_same(decode(encode(sent, [500, 900]), 900), sent)
