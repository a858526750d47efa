"""The weighted sum of updates (eq. 13)."""

import numpy as np
import pytest

from heteroselect.core.update import Update
from heteroselect.parts.aggregate import Mean


def vector(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def kept(values: np.ndarray, *positions: int) -> Update:
    return Update.keep(values, np.array(positions, np.int64))


def test_eq_13_sums_sparse_and_dense_updates_by_hand():
    updates = [
        kept(vector(4, 8, 0), 0, 1, 2),
        kept(vector(2, 9, 4), 0, 2),  # the 9 was not sent
    ]
    # ¾·(4, 8, 0) + ¼·(2, 0, 4)
    total = Mean().aggregate(updates, np.array([0.75, 0.25]), 3)
    assert total.tolist() == [3.5, 6, 1]
    assert total.dtype == np.float32


def test_every_update_needs_its_weight():
    with pytest.raises(ValueError, match="one finite weight for each of 2"):
        Mean().aggregate([kept(vector(1, 2), 0)] * 2, np.array([1.0]), 2)


def test_updates_are_added_in_the_order_given():
    # in single precision 10⁸ + 1 is 10⁸, so the order shows
    big, one, back = (kept(vector(value), 0) for value in (1e8, 1.0, -1e8))
    assert Mean().aggregate([big, one, back], np.ones(3), 1).tolist() == [0]
    assert Mean().aggregate([big, back, one], np.ones(3), 1).tolist() == [1]
