"""A sparse update behaves like the dense vector it stands for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heteroselect.core.update import Update, all_positions, dot, norm

VECTOR = np.array([3, 0, -4, 1], np.float32)


def keeping(*positions: int) -> Update:
    return Update.keep(VECTOR, np.array(positions))


def test_keep_picks_the_values_that_stand_at_the_positions() -> None:
    update = keeping(0, 2)
    assert update.size == 4
    assert update.values.tolist() == [3, -4]
    assert update.dense().tolist() == [3, 0, -4, 0]
    assert update.dense().dtype == np.float32
    assert [update.is_dense, keeping(0, 1, 2, 3).is_dense] == [False, True]


@pytest.mark.parametrize("positions", [(2,), (0, 2), (0, 1, 2, 3)])
@pytest.mark.parametrize("weight", [1.0, 0.5, -2.0, 0.0])
def test_add_to_is_weight_times_the_dense_vector_in_place(positions: tuple[int, ...], weight: float) -> None:
    update = keeping(*positions)
    vector = np.array([1, 2, 3, 4], np.float32)
    expected = vector + np.float32(weight) * update.dense()
    update.add_to(vector, weight)
    assert vector.tolist() == expected.tolist()
    update.add_to(vector)
    assert vector.tolist() == (expected + update.dense()).tolist(), "once by default"


def test_norm_and_dot_by_hand() -> None:
    other = np.array([2, 100, 1, 100], np.float32)
    assert keeping(0, 2).norm() == 5
    assert keeping(0, 2).dot(other) == 3 * 2 - 4 * 1
    assert keeping(0, 1, 2, 3).dot(other) == 6 - 4 + 100


def test_sums_are_double_precision() -> None:
    # 2²⁴ + 1 is not a float32: single precision would drop both ones
    large = np.array([2**24, 1, 1], np.float32)
    assert dot(large, np.ones(3, np.float32)) == 2**24 + 2
    huge = np.array([3e30, 4e30], np.float32)
    assert norm(huge) == pytest.approx(5e30, rel=1e-6)


@given(
    st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=30),
    st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=50)
def test_dot_and_norm_agree_with_the_dense_vector(values: list[float], random: object) -> None:
    vector = np.array(values, np.float32)
    kept = [i for i in range(len(values)) if random.random() < 0.5] or [0]  # type: ignore[attr-defined]
    update = Update.keep(vector, np.array(kept))
    assert update.dot(vector) == pytest.approx(dot(update.dense(), vector), rel=1e-12, abs=1e-12)
    assert update.norm() == pytest.approx(norm(update.dense()), rel=1e-12, abs=1e-12)


def test_updates_that_keep_everything_share_their_positions_and_nobody_can_write_to_them():
    vector = np.arange(5, dtype=np.float32)
    first, second = (Update.keep(vector, all_positions(5)) for _ in range(2))
    assert first.positions is second.positions
    assert first.positions.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="read-only"):
        first.positions[0] = 1
    first.values[0] = 7
    assert vector[0] == 0
    assert second.values[0] == 0
