"""The aggregate (eq. 13) and the server's momentum (eq. 14)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from heteroselect.aggregate import LookAhead, Running, ServerMomentum, weighted_sum
from heteroselect.compress.update import Update


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
    total = weighted_sum(3, updates, np.array([0.75, 0.25]))
    assert total.tolist() == [3.5, 6, 1]
    assert total.dtype == np.float32


def test_updates_are_left_as_they_were():
    update = kept(vector(4, 8, 0), 0, 1, 2)
    weighted_sum(3, [update, update], np.array([0.75, 0.25]))
    assert update.values.tolist() == [4, 8, 0]


def test_an_update_with_weight_zero_says_nothing():
    loud, mute = kept(vector(1, 2), 0, 1), kept(vector(100, 100), 0)
    assert weighted_sum(2, [loud, mute], np.array([1.0, 0.0])).tolist() == [1, 2]


def test_no_updates_and_empty_updates_sum_to_zero():
    assert weighted_sum(2, [], np.array([])).tolist() == [0, 0]
    assert weighted_sum(2, [kept(vector(1, 2))], np.array([1.0])).tolist() == [0, 0]


def test_every_update_needs_its_weight():
    with pytest.raises(ValueError, match="shorter"):
        weighted_sum(2, [kept(vector(1, 2), 0)] * 2, np.array([1.0]))


def test_updates_are_added_in_the_order_given():
    # in single precision 10⁸ + 1 is 10⁸, so the order shows
    big, one, back = (kept(vector(value), 0) for value in (1e8, 1.0, -1e8))
    assert weighted_sum(1, [big, one, back], np.ones(3)).tolist() == [0]
    assert weighted_sum(1, [big, back, one], np.ones(3)).tolist() == [1]


def test_eq_14_by_hand():
    server, state, model = ServerMomentum(), {}, vector(10, 10)
    models = []
    for aggregate in (vector(4, 0), vector(2, 8), vector(0, 0)):
        state, step = server.step(state, aggregate)
        model = model + step
        models.append(model.tolist())
    # M = (4, 0), ½(4, 0) + (2, 8) = (4, 8), ½(4, 8) = (2, 4)
    assert models == [[14, 10], [18, 18], [20, 22]]
    assert state["momentum"].tolist() == [2, 4]


def test_no_momentum_is_plain_averaging():
    state, step = ServerMomentum(0.0).step({"momentum": vector(7, 7)}, vector(1, 2))
    assert step.tolist() == [1, 2]
    assert state["momentum"].tolist() == [1, 2]


def test_a_step_changes_neither_the_old_momentum_nor_the_aggregate():
    state, aggregate = vector(2, 4), vector(1, 1)
    ServerMomentum().step({"momentum": state}, aggregate)
    assert_array_equal(state, [2, 4])
    assert_array_equal(aggregate, [1, 1])


def test_momentum_stays_in_single_precision():
    state, step = ServerMomentum(0.9).step({"momentum": vector(1)}, vector(1))
    assert state["momentum"].dtype == step.dtype == np.float32
    assert_allclose(step, 1.9, rtol=1e-6)


def test_a_server_rate_scales_the_step_and_not_the_momentum():
    state, step = ServerMomentum(0.5, rate=0.1).step({"momentum": vector(2)}, vector(1))
    assert state["momentum"].tolist() == [2]
    assert_allclose(step, 0.2, rtol=1e-6)


def test_a_running_sum_steps_by_all_that_was_ever_said():
    server, state = Running(rate=0.5), {}
    state, first = server.step(state, vector(4, 0))
    state, second = server.step(state, vector(0, -2))
    assert first.tolist() == [2, 0]
    assert second.tolist() == [2, -1]
    assert state["reference"].tolist() == [4, -2]


def test_looking_ahead_is_momentum_whose_clients_start_from_where_it_leads():
    """λ = ½ and rate 2, from w = 0: M = 4, 6, 2 and w = 8, 20, 24; clients start from w + 2·½·M = 12, 26, 26."""
    part, state, sent_out = LookAhead(0.5, 2.0), {}, vector(0)
    for aggregate, expected in ((4, 12), (4, 26), (-1, 26)):
        state, step = part.step(state, vector(aggregate))
        sent_out = sent_out + step
        assert sent_out.tolist() == [expected]
    assert state["momentum"].tolist() == [2]


def test_looking_ahead_without_momentum_is_the_plain_mean():
    state, step = LookAhead(0.0).step({}, vector(1, 2))
    assert step.tolist() == [1, 2]
    assert LookAhead(0.0).step(state, vector(3, 4))[1].tolist() == [3, 4]
