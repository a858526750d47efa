"""DRIVE: right on average for any vector, the error that the theory gives, and a bit a coordinate on the wire."""

import struct

import numpy as np
import pytest
from scipy.linalg import hadamard

from compressing import HEADER, assert_same, compress_context, draws, forged, normal, spikes
from heteroselect.parts.compress.codecs import rotated
from heteroselect.parts.compress.drive import Drive
from heteroselect.parts.compress.rotation import _signs
from heteroselect.parts.compress.wire import WireError, decode, encode

pytestmark = pytest.mark.slow  # they train, draw or start processes

ROTATION = rotated._ROTATION.size


@pytest.mark.parametrize("density", [1.0, 0.25])
@pytest.mark.parametrize("v", [normal(256), spikes(256), np.ones(256, np.float32)], ids=["normal", "spikes", "equal"])
def test_it_is_without_bias(v: np.ndarray, density: float) -> None:
    """The mean of many is as far from the vector as chance explains; a single Hadamard transform fails here."""
    count = 2000
    sent = draws(Drive(8), v, density, count)
    chance = np.sqrt(np.sum(sent.var(axis=0)) / count)
    assert np.linalg.norm(sent.mean(axis=0) - v) < 1.25 * chance
    off = np.abs(sent.mean(axis=0) - v) / (sent.std(axis=0) / np.sqrt(count))
    assert off.max() < 5


@pytest.mark.parametrize("density", [1.0, 0.5, 0.1])
def test_the_error_is_that_of_the_theory(density: float) -> None:
    """(π/(2θ) − 1)‖x‖² for large blocks."""
    v = normal(2**16)
    sent = Drive(12).compress(v, density, compress_context(4))[0].values
    error = np.sum((sent - v) ** 2, dtype=np.float64) / np.sum(v**2, dtype=np.float64)
    assert error == pytest.approx(np.pi / (2 * density) - 1, rel=0.05)


@pytest.mark.parametrize("density", [1.0, 0.3])
def test_what_arrives_is_as_long_along_the_vector_as_it_should_be(density: float) -> None:
    v = spikes(1000)
    sent = Drive(6).compress(v, density, compress_context(4))[0].values
    assert np.dot(sent, v) == pytest.approx(np.dot(v, v), rel=1e-4)


def test_by_hand() -> None:
    """R = (HD₂/4)(HD₁/4) as matrices, signs of Rx times ‖x‖²/‖Rx‖₁, and Rᵀ."""
    x = np.arange(1.0, 17)
    sent = Drive(4).compress(x.astype(np.float32), 1.0, compress_context(16))[0]
    transform = hadamard(16) / 4
    first, second = _signs(sent.coded.rotation.seed, 16)
    y = transform @ (second * (transform @ (first * x)))
    expected = first * (transform @ (second * (transform @ np.sign(y)))) * 1496 / np.abs(y).sum()  # 1² + … + 16²
    np.testing.assert_allclose(sent.values, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [2, 18, 20, 24, 31])
def test_a_tail_of_fewer_than_sixteen_is_sent_as_it_is(size: int) -> None:
    """Rotated in blocks of 8, 4, 2 and 1 the mean of many would be off by up to a half there."""
    v, context = normal(size), compress_context(4)
    for density in (1.0, 0.1):
        sent = np.stack([Drive().compress(v, density, context)[0].values for _ in range(20)])
        assert (sent[:, size // 16 * 16 :] == v[size // 16 * 16 :]).all()


def test_a_payload_of_older_versions_is_read_as_it_was() -> None:
    """Twenty coordinates rotated in blocks of 16 and 4, without a tail: bytes and values that version 0.1.0 gave."""
    old = "485357011400000014000000040100020000000000000055d36d83"
    old += "1000000004000000e883963f29c4363f2f41e1ece7f5875104143550"
    scale, last = struct.unpack("<2f", bytes.fromhex("e883963f29c4363f"))
    halves = [-1, -1, 1, -1, -1, 3, 3, 1, -1, -3, 1, -1, -3, -3, -3, -1]
    got = decode(bytes.fromhex(old), 20)
    np.testing.assert_allclose(got.values, [*(scale / 2 * h for h in halves), -last, -last, last, last], rtol=1e-6)
    assert encode(got).hex() == old


def test_a_tail_that_is_not_of_this_vector_is_refused() -> None:
    """Kind 5 where 16 divides the size, and a payload that is shorter than its tail."""
    even, odd = (encode(Drive().compress(normal(size), 1.0, compress_context(4))[0]) for size in (32, 40))
    assert (even[12], odd[12]) == (4, 5)
    for payload, size in ((even, 32), (odd[: HEADER + 8], 40)):
        with pytest.raises(WireError, match="tail is not of this vector"):
            decode(forged(payload, kind=5), size)


@pytest.mark.parametrize("size", [1, 7, 300, 5000])
@pytest.mark.parametrize("density", [1.0, 0.13])
def test_the_wire_takes_a_bit_each_and_brings_every_bit_back(size: int, density: float) -> None:
    sent = Drive(8).compress(normal(size), density, compress_context(4))[0]
    payload = encode(sent)
    blocks, codes = len(sent.coded.grid.ends), sent.coded.grid.codes.size
    assert codes >= density * (size - size % 16)
    assert len(payload) == HEADER + 8 * blocks + ROTATION + -(-codes // 8) + 4 * (size % 16)
    assert_same(decode(payload, size), sent)
    assert encode(decode(payload, size)) == payload


def test_a_rotation_that_is_not_of_this_vector_is_refused() -> None:
    sent = Drive(4).compress(normal(100), 0.5, compress_context(4))[0]
    payload = encode(sent)
    rotation = HEADER + 8 * len(sent.coded.grid.ends)
    assert_same(decode(forged(payload, bytes([4]), rotation + 8), 100), sent)
    for value in (3, 5, 16, 17, 255):
        with pytest.raises(WireError, match="rotation is not of this vector"):
            decode(forged(payload, bytes([value]), rotation + 8), 100)
    # the first block takes nine more than it has, from the next two
    assert struct.unpack_from("<3I", payload, HEADER) == (8, 8, 8)
    with pytest.raises(WireError, match="more of a block than there is"):
        decode(forged(payload, struct.pack("<3I", 17, 0, 7), HEADER), 100)
