"""What every aggregate promises."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.core.part import check
from heteroselect.core.update import Update
from heteroselect.parts.aggregate import GeometricMedian, Mean, Median, MultiKrum, Overlap, TrimmedMean

RANDOM = settings(max_examples=30, deadline=None, derandomize=True)


@dataclass(frozen=True)
class Shortest:
    """A user's own: the shortest update of all, times the sum of the weights."""

    kind: ClassVar[str] = "shortest"

    def aggregate(self, updates, weights, size):
        if not all(np.isfinite(update.values).all() for update in updates):
            raise ValueError("an update is not finite")
        vector = min(updates, key=lambda update: update.norm()).dense() if updates else np.zeros(size, np.float32)
        return np.float32(weights.sum()) * vector


ALL = [
    Mean(),
    Median(),
    TrimmedMean(),
    TrimmedMean(0.3),
    GeometricMedian(),
    MultiKrum(),
    MultiKrum(0.4),
    Overlap(),
    Overlap(0.0),
    Shortest(),
]
SEEDS, CLIENTS = st.integers(0, 10**6), st.integers(1, 12)
SIZE = 30


def sent(seed, clients):
    """Updates, sparse and dense ones, and weights that do not add up to one."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((clients, SIZE)).astype(np.float32)
    counts = rng.integers(1, SIZE + 1, clients)
    kept = [np.sort(rng.choice(SIZE, count, replace=False)) for count in counts]
    updates = [Update.keep(vector, positions) for vector, positions in zip(vectors, kept, strict=True)]
    return updates, rng.uniform(0.01, 0.5, clients)


@pytest.mark.parametrize("part", ALL, ids=repr)
@given(seed=SEEDS, clients=CLIENTS)
@RANDOM
def test_the_order_of_the_clients_does_not_matter(part, seed, clients):
    check(part)
    updates, weights = sent(seed, clients)
    order = np.random.default_rng(seed).permutation(clients)
    found = part.aggregate(updates, weights, SIZE)
    assert (found.dtype, found.shape) == (np.float32, (SIZE,))
    shuffled = part.aggregate([updates[place] for place in order], weights[order], SIZE)
    assert_allclose(shuffled, found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("part", ALL, ids=repr)
@given(seed=SEEDS, clients=CLIENTS)
@RANDOM
def test_identical_updates_give_the_update_times_the_sum_of_weights(part, seed, clients):
    updates, weights = sent(seed, clients)
    found = part.aggregate([updates[0]] * clients, weights, SIZE)
    assert_allclose(found, weights.sum() * updates[0].dense(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("part", ALL, ids=repr)
@given(seed=SEEDS, clients=CLIENTS)
@RANDOM
def test_no_coordinate_leaves_the_range_of_what_was_sent(part, seed, clients):
    updates, weights = sent(seed, clients)
    found = part.aggregate(updates, weights, SIZE) / weights.sum()
    values = np.array([update.dense() for update in updates])
    assert (found >= values.min(0) - 1e-5).all()
    assert (found <= values.max(0) + 1e-5).all()


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_updates_are_left_as_they_were_and_the_answer_is_the_same_again(part):
    updates, weights = sent(1, 6)
    before = [update.values.copy() for update in updates], weights.copy()
    found = part.aggregate(updates, weights, SIZE)
    assert part.aggregate(updates, weights, SIZE).tobytes() == found.tobytes()
    assert weights.tolist() == before[1].tolist()
    for update, values in zip(updates, before[0], strict=True):
        assert update.values.tolist() == values.tolist()


@pytest.mark.parametrize("part", ALL, ids=repr)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(part, value):
    updates, weights = sent(2, 5)
    broken = Update.whole(np.full(SIZE, value, np.float32))
    with pytest.raises(ValueError, match="finite"):
        part.aggregate([*updates[1:], broken], weights, SIZE)


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_nothing_sent_or_nothing_weighed_is_nothing(part):
    assert part.aggregate([], np.empty(0), SIZE).tolist() == [0] * SIZE
    assert not part.aggregate(sent(3, 4)[0], np.zeros(4), SIZE).any()


@pytest.mark.parametrize("part", [part for part in ALL if isinstance(part, Mean)], ids=repr)
@given(seed=SEEDS, clients=CLIENTS)
@RANDOM
def test_a_linear_one_is_linear_in_the_weights(part, seed, clients):
    updates, weights = sent(seed, clients)
    other = np.random.default_rng(seed).uniform(0.01, 0.5, clients)
    apart = part.aggregate(updates, weights, SIZE) + part.aggregate(updates, other, SIZE)
    assert_allclose(part.aggregate(updates, weights + other, SIZE), apart, rtol=1e-4, atol=1e-5)
