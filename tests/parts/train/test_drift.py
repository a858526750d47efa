"""SCAFFOLD and FedDyn on two quadratics that FedAvg does not solve.

F_k(y) = b_k/2·(y − a_k)² with b = (1, 10) and a = (0, 1): the optimum of the sum is 10/11.
"""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from torch import nn

from heteroselect.core.flat import FlatModel
from heteroselect.core.messages import Order
from heteroselect.core.update import Update
from heteroselect.parts.train import SGD, FedDyn, Job, Scaffold, ServerContext, TwoSided

pytestmark = pytest.mark.slow  # they train, draw or start processes

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
SLOPES, CENTRES = np.array([1.0, 10.0]), np.array([0.0, 1.0])
RATE, STEPS, ROUNDS, OPTIMUM = 0.05, 10, 100, 10 / 11
SCAFFOLD, FEDDYN = Scaffold(steps=STEPS), FedDyn(steps=STEPS, alpha=1.0, clip=0.0)


class Point(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return self.y


def quadratic(k):
    return lambda y, _: (SLOPES[k] / 2 * (y - CENTRES[k]) ** 2).sum()


def order(k, steps=STEPS):
    return Order(k, 1, RATE, 1.0, 0.0, steps)


def local(solver, k, w, state=None, shared=None, steps=STEPS):
    """Δ_k of `steps` steps from w."""
    model, nothing = FlatModel(Point()), torch.zeros(1)
    model.vector.copy_(torch.from_numpy(w))
    solver.run(model, Job(quadratic(k), lambda: (nothing, nothing), [RATE], steps, [state or {}], shared or {}))
    return model.vector.numpy() - w


def federated(solver, rounds=ROUNDS, who=lambda t: [0, 1]):
    """The model, the clients' states and the server's, after rounds with the clients that `who` names."""
    w, states, server = np.zeros(1, np.float32), [{}, {}], {}
    two_sided = isinstance(solver, TwoSided)
    for t in range(rounds):
        shared, sent = solver.shared(server) if two_sided else {}, []
        for k in who(t):
            sent.append(local(solver, k, w, states[k], shared))
            if two_sided:
                states[k] = solver.update_state(states[k], shared, Update.whole(sent[-1]), order(k))
        step = aggregate = np.mean(sent, 0)
        if two_sided:
            server, more = solver.follow(server, aggregate, ServerContext(RATE, STEPS, len(sent), 2))
            step = aggregate if more is None else aggregate + more
        w = w + step
    return w, states, server


@pytest.mark.parametrize(("proximal", "end"), [(0.0, 0.713442), (1.0, 0.736188)])
def test_fedavg_and_fedprox_stop_short(proximal, end):
    w, _, _ = federated(SGD(STEPS, momentum=0.0, proximal=proximal, clip=0.0))
    assert_allclose(w, end, atol=2e-6)


@pytest.mark.parametrize(("solver", "name"), [(SCAFFOLD, "control"), (FEDDYN, "correction")])
def test_both_find_the_optimum(solver, name):
    w, states, server = federated(solver)
    assert_allclose(w, OPTIMUM, atol=2e-6)
    # each has learnt its own gradient there, and the server their mean
    assert_allclose(np.concatenate([state[name] for state in states]), SLOPES * (OPTIMUM - CENTRES), atol=2e-5)
    assert_allclose(server[name], 0, atol=2e-5)


def test_the_first_round_of_scaffold_is_fedavg():
    fedavg, _, _ = federated(SGD(STEPS, momentum=0.0, clip=0.0), rounds=1)
    assert federated(SCAFFOLD, rounds=1)[0].tolist() == fedavg.tolist()


def test_the_first_round_of_feddyn_doubles_the_mean():
    # w¹ = 2·mean(y) − w⁰, here from w⁰ = 0
    w, _, _ = federated(FEDDYN, rounds=1)
    assert_allclose(w, 2 * np.mean([local(FEDDYN, k, np.zeros(1, np.float32)) for k in range(2)], 0), rtol=1e-6)


@pytest.mark.parametrize("k", [0, 1])
def test_after_a_single_step_the_control_is_the_gradient(k):
    w, state, shared = (np.array([x], np.float32) for x in (0.3, 0.7, -0.2))
    state, shared = {"control": state}, {"control": shared}
    sent = local(SCAFFOLD, k, w, state, shared, steps=1)
    found = SCAFFOLD.update_state(state, shared, Update.whole(sent), order(k, steps=1))["control"]
    assert_allclose(found, SLOPES[k] * (w - CENTRES[k]), rtol=1e-5)


@given(st.lists(st.sampled_from([[0], [1], [0, 1]]), min_size=1, max_size=12), st.integers(0, 2**32 - 1))
@RANDOM
def test_the_mean_of_all_controls_is_the_servers_whatever_was_sent(cohorts, seed):
    rng, solver = np.random.default_rng(seed), Scaffold(STEPS)
    states, server = [{}, {}], {}
    for cohort in cohorts:
        shared, sent = solver.shared(server), []
        for k in cohort:
            kept = np.flatnonzero(rng.random(6) < 0.5)
            sent.append(Update.keep(rng.normal(size=6).astype(np.float32), kept))
            states[k] = solver.update_state(states[k], shared, sent[-1], order(k))
        aggregate = np.mean([one.dense() for one in sent], 0)
        server, _ = solver.follow(server, aggregate, ServerContext(RATE, STEPS, len(sent), 2))
    controls = [state.get("control", np.zeros(6)) for state in states]
    assert_allclose(np.mean(controls, 0), server["control"], atol=1e-5)


@pytest.mark.parametrize(("own", "shared", "added"), [(None, None, 0), (2, None, -2), (None, 3, 3), (2, 3, 1)])
def test_what_is_added_to_a_gradient(own, shared, added):
    """A single step at rate 1 from a point without a gradient."""
    kept = [{} if value is None else {"control": np.array([value], np.float32)} for value in (own, shared)]
    model, nothing = FlatModel(Point()), torch.zeros(1)
    Scaffold().run(model, Job(lambda y, _: 0 * y.sum(), lambda: (nothing, nothing), [1.0], 1, kept[:1], kept[1]))
    assert model.vector.tolist() == [-added]


def test_the_shift_comes_before_the_clip():
    state, nothing = {"correction": np.array([-30.0], np.float32)}, torch.zeros(1)
    model = FlatModel(Point())
    FedDyn(clip=2.0).run(model, Job(lambda y, _: y.sum(), lambda: (nothing, nothing), [1.0], 1, [state]))
    assert model.vector.tolist() == pytest.approx([-2.0])


def test_the_absent_hold_the_server_back():
    # one of four: c ← 1 + ¼(−1 − 8/(10·0.1)); h ← 0 − ½·¼·8 and a step of 8 + 1/½
    turn, aggregate = ServerContext(rate=0.1, steps=10, used=1, clients=4), np.full(1, 8.0, np.float32)
    server, more = SCAFFOLD.follow({"control": np.ones(1, np.float32)}, aggregate, turn)
    assert_allclose(server["control"], 1 - 9 / 4)
    assert more is None
    server, more = FedDyn(alpha=0.5).follow({}, aggregate, turn)
    assert server["correction"].tolist() == [-1]
    assert (aggregate + more).tolist() == [10]
