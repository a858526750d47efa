"""What every aggregate promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from contracts.found import bits, each
from heteroselect.core.update import Update
from heteroselect.parts.aggregate import Mean, MultiKrum, TrimmedMean

RANDOM = settings(max_examples=30, deadline=None, derandomize=True)
EACH = each("aggregate", TrimmedMean(0.3), MultiKrum(0.4))
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


@EACH
@given(seed=SEEDS, clients=CLIENTS)
@RANDOM
def test_the_order_of_the_clients_does_not_matter_and_no_coordinate_leaves_the_range_of_what_was_sent(
    part, seed, clients
):
    updates, weights = sent(seed, clients)
    order = np.random.default_rng(seed).permutation(clients)
    found = part.aggregate(updates, weights, SIZE)
    assert (found.dtype, found.shape) == (np.float32, (SIZE,))
    shuffled = part.aggregate([updates[place] for place in order], weights[order], SIZE)
    assert_allclose(shuffled, found, rtol=1e-4, atol=1e-5)
    values = np.array([update.dense() for update in updates])
    assert (found / weights.sum() >= values.min(0) - 1e-5).all()
    assert (found / weights.sum() <= values.max(0) + 1e-5).all()


@EACH
@given(seed=SEEDS, clients=CLIENTS)
@RANDOM
def test_identical_updates_give_the_update_times_the_sum_of_weights(part, seed, clients):
    updates, weights = sent(seed, clients)
    found = part.aggregate([updates[0]] * clients, weights, SIZE)
    assert_allclose(found, weights.sum() * updates[0].dense(), rtol=1e-4, atol=1e-6)


@EACH
def test_updates_are_left_as_they_were_and_the_answer_is_the_same_again(part):
    updates, weights = sent(1, 6)
    found = part.aggregate(updates, weights, SIZE)
    assert part.aggregate(updates, weights, SIZE).tobytes() == found.tobytes()
    assert bits([updates, weights]) == bits(sent(1, 6))


@EACH
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(part, value):
    updates, weights = sent(2, 5)
    broken = Update.whole(np.full(SIZE, value, np.float32))
    with pytest.raises(ValueError, match="finite"):
        part.aggregate([*updates[1:], broken], weights, SIZE)


@EACH
def test_nothing_sent_or_nothing_weighed_is_nothing(part):
    assert part.aggregate([], np.empty(0), SIZE).tolist() == [0] * SIZE
    assert not part.aggregate(sent(3, 4)[0], np.zeros(4), SIZE).any()


@given(seed=SEEDS, clients=CLIENTS)
@RANDOM
def test_the_mean_is_linear_in_the_weights(seed, clients):
    updates, weights = sent(seed, clients)
    other = np.random.default_rng(seed).uniform(0.01, 0.5, clients)
    apart = Mean().aggregate(updates, weights, SIZE) + Mean().aggregate(updates, other, SIZE)
    assert_allclose(Mean().aggregate(updates, weights + other, SIZE), apart, rtol=1e-4, atol=1e-5)
