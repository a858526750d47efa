"""SCAFFOLD and FedDyn on two quadratics that FedAvg does not solve.

F_k(y) = b_k/2·(y − a_k)² with b = (1, 10) and a = (0, 1): the optimum of the sum is 10/11.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.train.drift import feddyn, scaffold, settle, shift

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
SLOPES, CENTRES = np.array([1.0, 10.0]), np.array([0.0, 1.0])
RATE, STEPS, ROUNDS, OPTIMUM = 0.05, 10, 400, 10 / 11


def local(k, w, added=0.0, proximal=0.0, steps=STEPS):
    """Δ_k of `steps` steps from w."""
    y = np.array(w, np.float64)
    for _ in range(steps):
        y = y - RATE * (SLOPES[k] * (y - CENTRES[k]) + added + proximal * (y - w))
    return y - w


def averaged(proximal=0.0):
    w = np.zeros(1)
    for _ in range(ROUNDS):
        w = w + np.mean([local(k, w, proximal=proximal) for k in range(2)], 0)
    return w


def controlled(who=lambda t: [0, 1], rounds=ROUNDS, compress=lambda x: x):
    """SCAFFOLD with the clients that `who` names; the model, the clients' vectors and the server's."""
    w, own, state = np.zeros(1), [np.zeros(1), np.zeros(1)], {"control": np.zeros(1)}
    for t in range(rounds):
        sent = []
        for k in who(t):
            added = shift(own[k], state["control"], w)
            sent.append(compress(local(k, w, added)))
            own[k] = settle(added, sent[-1], 1 / (STEPS * RATE))
        state, step = scaffold(state, np.mean(sent, 0), rate=RATE, steps=STEPS, heard=len(sent), clients=2)
        w = w + step
    return w, own, state["control"]


def dynamic(rounds=ROUNDS, alpha=1.0):
    w, own, state = np.zeros(1), [None, None], {}
    for _ in range(rounds):
        sent = []
        for k in range(2):
            added = shift(own[k], None, w)
            sent.append(local(k, w, added, proximal=alpha))
            own[k] = settle(added, sent[-1], alpha)
        state, step = feddyn(state, np.mean(sent, 0), alpha=alpha, heard=2, clients=2)
        w = w + step
    return w, own, state


def test_fedavg_and_fedprox_stop_short():
    assert_allclose(averaged(), 0.713442, atol=1e-6)
    assert_allclose(averaged(proximal=1.0), 0.736188, atol=1e-6)


def test_scaffold_finds_the_optimum():
    w, own, control = controlled()
    assert_allclose(w, OPTIMUM, atol=1e-6)
    # each has learnt its own gradient there, and the server their mean
    assert_allclose(np.concatenate(own), SLOPES * (OPTIMUM - CENTRES), atol=1e-5)
    assert_allclose(control, 0, atol=1e-5)


def test_feddyn_finds_the_optimum():
    w, own, state = dynamic()
    assert_allclose(w, OPTIMUM, atol=1e-6)
    assert_allclose(np.concatenate(own), SLOPES * (OPTIMUM - CENTRES), atol=1e-5)
    assert_allclose(state["correction"], 0, atol=1e-5)


def test_the_first_round_of_scaffold_is_fedavg():
    w, _, _ = controlled(rounds=1)
    assert_allclose(w, np.mean([local(k, np.zeros(1)) for k in range(2)], 0))


def test_the_first_round_of_feddyn_doubles_the_mean():
    # w¹ = 2·mean(y) − w⁰, here from w⁰ = 0
    w, _, _ = dynamic(rounds=1)
    assert_allclose(w, 2 * np.mean([local(k, np.zeros(1), proximal=1.0) for k in range(2)], 0))


def test_after_a_single_step_the_control_is_the_gradient():
    w = np.array([0.3])
    for k in range(2):
        added = shift(np.array([0.7]), np.array([-0.2]), w)
        sent = local(k, w, added, steps=1)
        assert_allclose(settle(added, sent, 1 / RATE), SLOPES[k] * (w - CENTRES[k]), rtol=1e-6)


@given(st.lists(st.sampled_from([[0], [1], [0, 1]]), min_size=1, max_size=12), st.sampled_from([1.0, 0.5, 0.0]))
@RANDOM
def test_the_mean_of_all_controls_is_the_servers_whatever_was_lost_of_what_was_sent(cohorts, kept):
    _, own, control = controlled(lambda t: cohorts[t], len(cohorts), lambda sent: np.float32(kept) * sent)
    assert_allclose(np.mean(own, 0), control, atol=1e-6)


@pytest.mark.parametrize(("own", "shared", "added"), [(None, None, 0), (2, None, -2), (None, 3, 3), (2, 3, 1)])
def test_what_is_added_to_a_gradient(own, shared, added):
    vectors = [None if value is None else np.array([value], np.float32) for value in (own, shared)]
    found = shift(*vectors, np.ones(1, np.float32))
    assert found.tolist() == [added]
    assert [v.tolist() for v in vectors if v is not None] == [[v] for v in (own, shared) if v is not None]


def test_formulas_stay_in_single_precision():
    one = np.ones(2, np.float32)
    for state, step in (
        scaffold({}, one, rate=0.05, steps=10, heard=1, clients=3),
        feddyn({}, one, alpha=0.1, heard=1, clients=3),
    ):
        assert step.dtype == np.float32
        assert all(value.dtype == np.float32 for value in state.values())
    assert settle(one, one, 0.1).dtype == np.float32


def test_the_absent_hold_the_server_back():
    # one of four heard: c ← 1 + ¼(−1 − 8/(10·0.1)); h ← 0 − ½·¼·8 and a step of 8 + 1/½
    state, step = scaffold({"control": np.ones(1)}, np.full(1, 8.0), rate=0.1, steps=10, heard=1, clients=4, step=0.5)
    assert_allclose(state["control"], 1 - 9 / 4)
    assert step.tolist() == [4]
    state, step = feddyn({}, np.full(1, 8.0), alpha=0.5, heard=1, clients=4)
    assert state["correction"].tolist() == [-1]
    assert step.tolist() == [10]
