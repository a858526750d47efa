"""What every local solver promises."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from contracts.found import bits, each, stored
from heteroselect.core.flat import FlatModel
from heteroselect.core.messages import Order
from heteroselect.core.traits import traits_of
from heteroselect.core.update import Update
from heteroselect.engines.simulate.together import Together
from heteroselect.parts.train import SGD, Calibrated, FedDyn, FedSOL, Job, Scaffold, ServerContext, TwoSided

pytestmark = pytest.mark.slow  # they train, draw or start processes


MORE = [
    *(SGD(momentum=0.0, proximal=0.5, clip=0.0), SGD(momentum=0.5, clip=1.0, decay=0.1, centre=True)),
    *(Scaffold(clip=1.0), FedDyn(alpha=1.0, clip=0.0)),
    *(FedSOL(rho=0.1, clip=1.0), Calibrated(momentum=0.0, clip=0.0, strength=0.5)),
]
EACH = each("solver", *MORE)
TWO_SIDED = each("solver", *MORE, only=lambda part: isinstance(part, TwoSided))
RATE, STEPS, ROUNDS = 0.05, 5, 3


def plain(seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def with_statistics(seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def data(seed=1, count=STEPS):
    """Three classes around three points."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 3, (count, 16), generator=generator)
    return 2 * torch.eye(3, 6)[y] + torch.randn(count, 16, 6, generator=generator), y


def job(x, y, rate=RATE, states=({},), shared=None):
    batches = iter(zip(x, y, strict=True))
    return Job(cross_entropy, lambda: next(batches), [rate] * len(states), len(y), states, shared or {})


def correction(part, size, seed):
    """A state that such a solver may have, at a client or at the server."""
    name = {"scaffold": "control", "feddyn": "correction"}.get(getattr(part, "kind", ""))
    rng = np.random.default_rng(seed)
    return {name: (0.1 * rng.normal(size=size)).astype(np.float32)} if name else {}


@EACH
@pytest.mark.parametrize("network", [plain, with_statistics])
def test_training_is_deterministic_and_moves_nothing_but_the_model(part, network):
    model, before = FlatModel(network()), torch.get_rng_state()
    start, vector = model.weights(), model.vector
    state, shared = correction(part, model.layout.size, 1), correction(part, model.layout.size, 2)
    x, y = data()
    inputs = [x, y, *map(torch.from_numpy, [*state.values(), *shared.values()])]
    copies = [tensor.clone() for tensor in inputs]
    ends = []
    for _ in range(2):
        model.load(start)
        part.run(model, job(x, y, states=[state], shared=shared))
        ends.append(model.weights().sha256())
    assert ends[0] == ends[1] != start.sha256()
    assert all(torch.equal(*pair) for pair in zip(inputs, copies, strict=True))
    assert torch.equal(torch.get_rng_state(), before)
    # the parameters are still views of the vector that was trained
    assert model.vector is vector
    assert all(
        p.data_ptr() == vector[s.slice].data_ptr() for p, s in zip(model.views, model.layout.parameters, strict=True)
    )


@EACH
def test_it_takes_the_steps_it_was_given_and_reports_their_losses(part):
    model, count = FlatModel(plain()), 0
    x, y = data()

    def batches():
        nonlocal count
        count += 1
        return x[count - 1], y[count - 1]

    part = replace(part, steps=2)  # the job's count holds
    report = part.run(model, Job(cross_entropy, batches, [RATE], STEPS)).report()
    assert count == STEPS
    assert set(report) == {"loss", "rms"}
    assert 0 < report["loss"] <= report["rms"] < 10


@EACH
def test_with_a_rate_of_zero_nothing_is_learnt(part):
    model = FlatModel(plain())
    start = model.vector.clone()
    part.run(model, job(*data(), rate=0.0))
    assert torch.equal(model.vector, start)


@EACH
def test_it_learns(part):
    model, (x, y) = FlatModel(plain()), data(count=40)
    before = float(model.backward(cross_entropy, x[0], y[0]))
    part.run(model, job(x, y))
    assert float(model.backward(cross_entropy, x[0], y[0])) < 0.9 * before


@EACH
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_do_not_go_unnoticed(part, bad):
    model, (x, y) = FlatModel(plain()), data()
    x[2, 3, 1] = bad
    report = part.run(model, job(x, y)).report()
    assert not (model.vector.isfinite().all() and np.isfinite(report["loss"]))


@each("solver", *MORE, only=lambda part: traits_of(part).rows)
@pytest.mark.parametrize("rates", [[RATE] * 3, [0.02, 0.05, 0.1]])
def test_a_matrix_of_clients_gives_the_bits_of_one_by_one(part, rates):
    generator = torch.Generator().manual_seed(1)
    model = FlatModel(nn.Sequential(nn.Linear(12, 20), nn.Tanh(), nn.Linear(20, 4)))
    model.vector.copy_(0.3 * torch.randn(model.layout.size, generator=generator))
    start, size = model.vector.clone(), model.layout.size
    states, shared = [correction(part, size, 3), {}, correction(part, size, 4)], correction(part, size, 5)
    x = torch.randn(STEPS, 3, 8, 12, generator=generator)
    y = torch.randint(0, 4, (STEPS, 3, 8), generator=generator)
    rows = Together(model, 3, exact=True)
    if not rows.fits(cross_entropy, x[0].clone(), y[0]):
        pytest.skip("this processor's kernels give other bits for a matrix, and the engine does not use it")
    rows.vector.copy_(start)
    # copies: where a batch lies in memory decides which kernel a matrix product takes
    batches = iter([(one.clone(), other) for one, other in zip(x, y, strict=True)])
    together = part.run(rows, Job(cross_entropy, lambda: next(batches), rates, STEPS, states, shared))
    for row in range(3):
        model.vector.copy_(start)
        inputs, targets = [one.clone() for one in x[:, row]], y[:, row]
        alone = part.run(model, job(inputs, targets, rates[row], [states[row]], shared))
        assert torch.equal(model.vector, rows.vector[row])
        assert together.report(row) == alone.report()


def federated(part, through=lambda state: state):
    """Three rounds of two clients of three; every state goes `through` something between rounds."""
    model = FlatModel(plain())
    w, server, clients = model.vector.clone(), {}, [{}, {}, {}]
    for t in range(ROUNDS):
        shared, sent = through(part.shared(server)), []
        for k in (t % 3, (t + 1) % 3):
            model.vector.copy_(w)
            part.run(model, job(*data(10 * t + k), states=[clients[k]], shared=shared))
            sent.append(Update.whole((model.vector - w).numpy()))
            clients[k] = through(part.update_state(clients[k], shared, sent[-1], Order(k, t, RATE, 1.0, 0.0, STEPS)))
        aggregate = np.mean([one.dense() for one in sent], 0)
        server, more = part.follow(server, aggregate, ServerContext(RATE, STEPS, 2, 3))
        server = through(server)
        w = w + torch.from_numpy(aggregate if more is None else aggregate + more)
    return w, [server, *clients]


@TWO_SIDED
def test_states_survive_a_checkpoint(part):
    """They are read-only then, which a part that wrote into them would notice."""
    w, states = federated(part)
    again, _ = federated(part, stored)
    assert torch.equal(w, again)
    assert all(array.dtype == np.float32 and array.shape == w.shape for state in states for array in state.values())


@TWO_SIDED
def test_states_and_updates_are_read_not_written(part):
    size = 7
    state, shared, server = (correction(part, size, seed) for seed in range(3))
    rng = np.random.default_rng(0)
    sent = Update.keep(rng.normal(size=size).astype(np.float32), np.array([1, 4]))
    aggregate = rng.normal(size=size).astype(np.float32)
    given = [state, shared, server, sent, aggregate]
    before = bits(given)
    part.update_state(state, shared, sent, Order(0, 1, RATE, 1.0, 0.0, STEPS))
    part.follow(server, aggregate, ServerContext(RATE, STEPS, 2, 3))
    assert bits(given) == before


@TWO_SIDED
def test_a_solver_with_two_halves_says_what_it_requires_of_other_roles(part):
    assert traits_of(part).requires["weigh"] == ("uniform",)
    for role, settings in traits_of(part).brings.items():
        assert settings["kind"] in traits_of(part).requires[role]


@EACH
def test_the_price_of_a_step_is_that_of_its_passes(part):
    """Forwards and backwards at the model itself; the rest of `passes` is the global model's forward pass."""
    model = FlatModel(plain())
    original, calls = model.backward, []
    model.backward = lambda *arguments: (calls.append(1), original(*arguments))[1]
    part.run(model, job(*data()))
    first = isinstance(part, FedSOL)  # whose first step is SGD's
    assert len(calls) + first == STEPS * int(traits_of(part).passes or 1.0)
