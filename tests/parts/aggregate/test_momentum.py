"""The server's momentum (eq. 14) and its kin."""

import numpy as np
from numpy.testing import assert_allclose

from heteroselect.parts.aggregate import LookAhead, Running, ServerMomentum, ServerSGD


def vector(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_plain_sgd_adds_the_aggregate_and_keeps_nothing():
    aggregate = vector(1, 2)
    state, step = ServerSGD().step({"momentum": vector(7, 7)}, aggregate)
    assert (state, step.tolist()) == ({}, [1, 2])
    step = ServerSGD(0.1).step({}, aggregate)[1]
    assert step.dtype == np.float32
    assert_allclose(step, [0.1, 0.2], rtol=1e-6)


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


def test_momentum_stays_in_single_precision():
    state, step = ServerMomentum(0.9).step({"momentum": vector(1)}, vector(1))
    assert state["momentum"].dtype == step.dtype == np.float32
    assert_allclose(step, 1.9, rtol=1e-6)


def test_a_server_rate_scales_the_step_and_not_the_momentum():
    state, step = ServerMomentum(0.5, rate=0.1).step({"momentum": vector(2)}, vector(1))
    assert state["momentum"].tolist() == [2]
    assert_allclose(step, 0.2, rtol=1e-6)


def test_a_running_sum_steps_by_all_that_was_ever_sent():
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
