"""What every local solver promises: shipped ones, and a user's own."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from heteroselect.core.flat import FlatModel
from heteroselect.core.messages import Order
from heteroselect.core.part import FieldError, check, declared, setting
from heteroselect.core.state import by_role, flat
from heteroselect.core.traits import Traits, traits_of
from heteroselect.core.update import Update
from heteroselect.engines.simulate.together import Together
from heteroselect.parts.train import SGD, Calibrated, FedDyn, FedSOL, Job, Scaffold, ServerContext, TwoSided
from heteroselect.parts.train.descent import descend

pytestmark = pytest.mark.slow  # they train, draw or start processes


# A user's own solver, as in docs/extend.md
class Uphill:
    """A model whose gradient is that of a point ρ further uphill."""

    def __init__(self, model, rho):
        self.model, self.rho = model, rho
        self.module, self.vector, self.gradient = model.module, model.vector, model.gradient

    def backward(self, loss, x, y):
        value, context = self.model.backward(loss, x, y), self.vector.clone()
        self.vector.add_(self.gradient, alpha=self.rho / (float(self.gradient.norm()) + 1e-12))
        self.model.backward(loss, x, y)
        self.vector.copy_(context)
        return value


@dataclass(frozen=True)
class SAM:
    traits = Traits(passes=2.0)  # over a batch per step, for the clock
    steps: int = setting(50, "local steps", ge=1)
    batch: int = setting(32, "examples per step", ge=1)
    rho: float = setting(0.05, "how far uphill", gt=0)

    def run(self, model, job):
        return descend(Uphill(model, self.rho), job, momentum=0.9)


SHIPPED = [
    SGD(),
    SGD(momentum=0.0, proximal=0.5, clip=0.0),
    SGD(momentum=0.5, clip=1.0, decay=0.1, centre=True),
    Scaffold(),
    Scaffold(clip=1.0),
    FedDyn(),
    FedDyn(alpha=1.0, clip=0.0),
    FedSOL(),
    FedSOL(rho=0.1, clip=1.0),
    Calibrated(),
    Calibrated(momentum=0.0, clip=0.0, strength=0.5),
]
SOLVERS = [*SHIPPED, SAM()]
TWO_SIDED = [solver for solver in SOLVERS if isinstance(solver, TwoSided)]
ROWS = [solver for solver in SOLVERS if traits_of(solver).rows]
RATE, STEPS, ROUNDS = 0.05, 5, 3

every = pytest.mark.parametrize("solver", SOLVERS, ids=repr)


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


def correction(solver, size, seed):
    """A state that such a solver may have, at a client or at the server."""
    name = {"scaffold": "control", "feddyn": "correction"}.get(getattr(solver, "kind", ""))
    rng = np.random.default_rng(seed)
    return {name: (0.1 * rng.normal(size=size)).astype(np.float32)} if name else {}


@every
@pytest.mark.parametrize("network", [plain, with_statistics])
def test_training_is_deterministic_and_moves_nothing_but_the_model(solver, network):
    model, before = FlatModel(network()), torch.get_rng_state()
    start, vector = model.weights(), model.vector
    state, shared = correction(solver, model.layout.size, 1), correction(solver, model.layout.size, 2)
    x, y = data()
    inputs = [x, y, *map(torch.from_numpy, [*state.values(), *shared.values()])]
    copies = [tensor.clone() for tensor in inputs]
    ends = []
    for _ in range(2):
        model.load(start)
        solver.run(model, job(x, y, states=[state], shared=shared))
        ends.append(model.weights().sha256())
    assert ends[0] == ends[1] != start.sha256()
    assert all(torch.equal(*pair) for pair in zip(inputs, copies, strict=True))
    assert torch.equal(torch.get_rng_state(), before)
    # the parameters are still views of the vector that was trained
    assert model.vector is vector
    assert all(
        p.data_ptr() == vector[s.slice].data_ptr() for p, s in zip(model.views, model.layout.parameters, strict=True)
    )


@every
def test_it_takes_the_steps_it_was_given_and_reports_their_losses(solver):
    model, count = FlatModel(plain()), 0
    x, y = data()

    def batches():
        nonlocal count
        count += 1
        return x[count - 1], y[count - 1]

    solver = replace(solver, steps=2)  # the job's count holds
    report = solver.run(model, Job(cross_entropy, batches, [RATE], STEPS)).report()
    assert count == STEPS
    assert set(report) == {"loss", "rms"}
    assert 0 < report["loss"] <= report["rms"] < 10


@every
def test_with_a_rate_of_zero_nothing_is_learnt(solver):
    model = FlatModel(plain())
    start = model.vector.clone()
    solver.run(model, job(*data(), rate=0.0))
    assert torch.equal(model.vector, start)


@every
def test_it_learns(solver):
    model, (x, y) = FlatModel(plain()), data(count=40)
    before = float(model.backward(cross_entropy, x[0], y[0]))
    solver.run(model, job(x, y))
    assert float(model.backward(cross_entropy, x[0], y[0])) < 0.9 * before


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_do_not_go_unnoticed(solver, bad):
    model, (x, y) = FlatModel(plain()), data()
    x[2, 3, 1] = bad
    report = solver.run(model, job(x, y)).report()
    assert not (model.vector.isfinite().all() and np.isfinite(report["loss"]))


@pytest.mark.parametrize("solver", ROWS, ids=repr)
@pytest.mark.parametrize("rates", [[RATE] * 3, [0.02, 0.05, 0.1]])
def test_a_matrix_of_clients_gives_the_bits_of_one_by_one(solver, rates):
    generator = torch.Generator().manual_seed(1)
    model = FlatModel(nn.Sequential(nn.Linear(12, 20), nn.Tanh(), nn.Linear(20, 4)))
    model.vector.copy_(0.3 * torch.randn(model.layout.size, generator=generator))
    start, size = model.vector.clone(), model.layout.size
    states, shared = [correction(solver, size, 3), {}, correction(solver, size, 4)], correction(solver, size, 5)
    x = torch.randn(STEPS, 3, 8, 12, generator=generator)
    y = torch.randint(0, 4, (STEPS, 3, 8), generator=generator)
    rows = Together(model, 3, exact=True)
    if not rows.fits(cross_entropy, x[0].clone(), y[0]):
        pytest.skip("this processor's kernels give other bits for a matrix, and the engine does not use it")
    rows.vector.copy_(start)
    # copies: where a batch lies in memory decides which kernel a matrix product takes
    batches = iter([(one.clone(), other) for one, other in zip(x, y, strict=True)])
    together = solver.run(rows, Job(cross_entropy, lambda: next(batches), rates, STEPS, states, shared))
    for row in range(3):
        model.vector.copy_(start)
        inputs, targets = [one.clone() for one in x[:, row]], y[:, row]
        alone = solver.run(model, job(inputs, targets, rates[row], [states[row]], shared))
        assert torch.equal(model.vector, rows.vector[row])
        assert together.report(row) == alone.report()


def federated(solver, through=lambda state: state):
    """Three rounds of two clients of three; every state goes `through` something between rounds."""
    model = FlatModel(plain())
    w, server, clients = model.vector.clone(), {}, [{}, {}, {}]
    for t in range(ROUNDS):
        shared, sent = through(solver.shared(server)), []
        for k in (t % 3, (t + 1) % 3):
            model.vector.copy_(w)
            solver.run(model, job(*data(10 * t + k), states=[clients[k]], shared=shared))
            sent.append(Update.whole((model.vector - w).numpy()))
            clients[k] = through(solver.update_state(clients[k], shared, sent[-1], Order(k, t, RATE, 1.0, 0.0, STEPS)))
        aggregate = np.mean([one.dense() for one in sent], 0)
        server, more = solver.follow(server, aggregate, ServerContext(RATE, STEPS, 2, 3))
        server = through(server)
        w = w + torch.from_numpy(aggregate if more is None else aggregate + more)
    return w, [server, *clients]


def stored(state):
    """As a checkpoint has it: by joined names, as bytes."""
    joined = {name: (array.tobytes(), array.dtype, array.shape) for name, array in flat({"solver": state}).items()}
    read = {name: np.frombuffer(data, dtype).reshape(shape) for name, (data, dtype, shape) in joined.items()}
    return by_role(read).get("solver", {})


@pytest.mark.parametrize("solver", TWO_SIDED, ids=repr)
def test_states_survive_a_checkpoint(solver):
    """They are read-only then, which a part that wrote into them would notice."""
    w, states = federated(solver)
    again, _ = federated(solver, stored)
    assert torch.equal(w, again)
    assert all(array.dtype == np.float32 and array.shape == w.shape for state in states for array in state.values())


@pytest.mark.parametrize("solver", TWO_SIDED, ids=repr)
def test_states_and_updates_are_read_not_written(solver):
    size = 7
    state, shared, server = (correction(solver, size, seed) for seed in range(3))
    rng = np.random.default_rng(0)
    sent = Update.keep(rng.normal(size=size).astype(np.float32), np.array([1, 4]))
    aggregate = rng.normal(size=size).astype(np.float32)
    arrays = [*state.values(), *shared.values(), *server.values(), sent.values, aggregate]
    copies = [array.copy() for array in arrays]
    solver.update_state(state, shared, sent, Order(0, 1, RATE, 1.0, 0.0, STEPS))
    solver.follow(server, aggregate, ServerContext(RATE, STEPS, 2, 3))
    assert all((one == other).all() for one, other in zip(arrays, copies, strict=True))


@pytest.mark.parametrize("solver", TWO_SIDED, ids=repr)
def test_a_solver_with_two_halves_says_what_it_requires_of_other_roles(solver):
    assert traits_of(solver).requires["weigh"] == ("uniform",)
    for role, settings in traits_of(solver).brings.items():
        assert settings["kind"] in traits_of(solver).requires[role]


def test_who_has_two_halves():
    assert {type(solver) for solver in TWO_SIDED} == {Scaffold, FedDyn}


@every
def test_the_settings_are_declared(solver):
    check(solver)
    settings = declared(type(solver))
    assert {"steps", "batch"} <= set(settings)
    assert all(one.meaning for one in settings.values())
    for name, bad in (("steps", 0), ("batch", 0)):
        with pytest.raises(FieldError) as error:
            check(replace(solver, **{name: bad}))
        assert error.value.name == name


@every
def test_the_price_of_a_step_is_that_of_its_passes(solver):
    """Forwards and backwards at the model itself; the rest of `passes` is the global model's forward pass."""
    model = FlatModel(plain())
    original, calls = model.backward, []
    model.backward = lambda *arguments: (calls.append(1), original(*arguments))[1]
    solver.run(model, job(*data()))
    first = isinstance(solver, FedSOL)  # whose first step is SGD's
    assert len(calls) + first == STEPS * int(traits_of(solver).passes or 1.0)
