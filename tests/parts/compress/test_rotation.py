"""A random rotation: a matrix by hand, nothing lost there and back, and the same signs everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard

from compressing import array, normal
from heteroselect.parts.compress.rotation import Rotation, _signs


def matrix(rotation: Rotation) -> np.ndarray:
    return np.stack([rotation.turn(unit) for unit in np.eye(rotation.size, dtype=np.float32)], axis=1)


def test_a_block_is_two_transforms_with_signs() -> None:
    first, second = _signs(5, 8)
    transform = hadamard(8) / np.sqrt(8)
    expected = transform @ np.diag(second) @ transform @ np.diag(first)
    np.testing.assert_allclose(matrix(Rotation(8, 5, 3)), expected, atol=1e-6)


def test_a_single_pair_by_hand() -> None:
    """With all signs +, H·H/2 is the identity; with D₂ = (+, −) it swaps the two."""
    seeds = {tuple(_signs(seed, 2).reshape(-1).tolist()): seed for seed in range(200)}
    plain, swap = seeds[1.0, 1.0, 1.0, 1.0], seeds[1.0, 1.0, 1.0, -1.0]
    assert Rotation(2, plain, 1).turn(array(3, 4)).tolist() == pytest.approx([3, 4])
    assert Rotation(2, swap, 1).turn(array(3, 4)).tolist() == pytest.approx([4, 3])


@given(size=st.integers(1, 300), seed=st.integers(0, 2**64 - 1), exponent=st.integers(0, 16))
@settings(deadline=None, max_examples=60)
def test_there_and_back_and_no_longer_than_before(size: int, seed: int, exponent: int) -> None:
    rotation, v = Rotation(size, seed, exponent), normal(size, seed % 1000)
    assert rotation.blocks.sum() == size
    turned = rotation.turn(v)
    assert np.linalg.norm(turned) == pytest.approx(np.linalg.norm(v), rel=1e-5)
    np.testing.assert_allclose(rotation.back(turned), v, atol=1e-5)


def test_blocks_do_not_mix() -> None:
    rotation = Rotation(22, 7, 3)
    blocks = np.repeat(np.arange(4), rotation.blocks)
    assert not matrix(rotation)[blocks[:, None] != blocks].any()


def test_the_first_of_each_block_and_back_to_their_places() -> None:
    rotation = Rotation(7, 0, 2)  # blocks of 4, 2 and 1
    sent = np.array([2, 1, 1])
    picked = rotation.pick(array(0, 1, 2, 3, 4, 5, 6), sent)
    assert picked.tolist() == [0, 1, 4, 6]
    assert rotation.spread(picked, sent).tolist() == [0, 1, 0, 0, 4, 0, 6]
    assert rotation.spread(array(*range(7)), rotation.blocks).tolist() == list(range(7))


def test_both_sides_of_a_link_draw_the_same_signs_in_every_version() -> None:
    assert _signs(1, 8).astype(int).tolist() == [[1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, -1, -1, 1, -1, -1]]


def test_few_large_coordinates_leave_no_trace() -> None:
    """Five spikes among a thousand: after two transforms the coordinates are as those of a normal vector (kurtosis 3);
    after one alone they would take 32 values."""
    v = np.zeros(1024, np.float32)
    v[:5] = [5, -3, 2, 1, 0.5]
    turned = np.stack([Rotation(1024, seed, 10).turn(v) for seed in range(50)]).astype(np.float64)
    assert len(np.unique(turned[0].round(5))) > 200
    assert np.mean(turned**4) / np.mean(turned**2) ** 2 == pytest.approx(3, abs=0.2)


@pytest.mark.parametrize(("seed", "exponent"), [(-1, 3), (2**64, 3), (0, 17), (0, -1)])
def test_what_cannot_be_is_refused(seed: int, exponent: int) -> None:
    with pytest.raises(ValueError, match="are allowed"):
        Rotation(10, seed, exponent)
