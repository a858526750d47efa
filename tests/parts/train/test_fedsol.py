"""FedSOL: one step by hand, several against numpy, and what of a step must be SGD's."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from heteroselect.core.flat import FlatModel
from heteroselect.core.part import FieldError
from heteroselect.parts.train import SGD, FedSOL, Job
from heteroselect.parts.train.fedsol import _Perturbed

pytestmark = pytest.mark.slow  # they train, draw or start processes


def network(seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        first = nn.Conv2d(3, 4, 2).to(memory_format=torch.channels_last)
        return nn.Sequential(first, nn.BatchNorm2d(4), nn.Tanh(), nn.Flatten(), nn.Linear(16, 3))


def stream(seed=1):
    generator = torch.Generator().manual_seed(seed)
    return lambda: (torch.randn(8, 3, 3, 3, generator=generator), torch.randint(0, 3, (8,), generator=generator))


def trained(solver, steps):
    model = FlatModel(network())
    found = solver.run(model, Job(cross_entropy, stream(), [0.1], steps))
    return model.weights(), found.report()


@pytest.mark.parametrize(("rho", "steps"), [(0.0, 6), (1.0, 1)])
def test_without_rho_and_in_the_first_step_it_is_sgd_to_the_bit(rho, steps):
    """Batch-norm statistics and the reported losses included."""
    found, report = trained(FedSOL(rho=rho, clip=2.0), steps)
    expected, expected_report = trained(SGD(), steps)
    assert found.sha256() == expected.sha256()
    assert report == expected_report


def test_two_steps_by_hand():
    """Two classes, one weight each, x = 1, the first class is right, η = 1. The first step goes from (0, 0) to (½, −½).
    q is along (1, −1)/√2, Λ is (1, 1)/√2: the second gradient is taken at (½, −½) + (½, −½), and is
    (σ(2) − 1)·(1, −1)."""
    model = FlatModel(nn.Linear(1, 2, bias=False))
    model.vector.zero_()
    batch = torch.ones(1, 1), torch.zeros(1, dtype=torch.int64)
    FedSOL(momentum=0.0).run(model, Job(cross_entropy, lambda: batch, [1.0], 2))
    end = 0.5 + 1 - 1 / (1 + np.exp(-2.0))
    assert model.vector.tolist() == pytest.approx([end, -end], rel=1e-5)


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_steps_against_numpy():
    """A linear model with a bias: Λ has norm 1 along the classes, for each input and for the bias."""
    rng, eta, momentum, rho, temperature = np.random.default_rng(3), 0.2, 0.6, 0.7, 3.0
    w = np.hstack([rng.normal(size=(4, 3)), rng.normal(size=(4, 1))])
    data = [(rng.normal(size=(5, 3)), rng.integers(0, 4, 5)) for _ in range(4)]
    y, velocity = w.copy(), np.zeros_like(w)
    for t, (x, targets) in enumerate(data):
        x = np.hstack([x, np.ones((5, 1))])
        at = y.copy()
        if t > 0:
            q = (softmax(x @ y.T / temperature) - softmax(x @ w.T / temperature)).T @ x / (5 * temperature)
            along = np.abs(y - w) / np.linalg.norm(y - w, axis=0)
            at += rho * along * q / np.linalg.norm(q)
        velocity = momentum * velocity + (softmax(x @ at.T) - np.eye(4)[targets]).T @ x / 5
        y = y - eta * velocity
    model = FlatModel(nn.Linear(3, 4))
    model.vector.copy_(torch.from_numpy(np.concatenate([w[:, :3].ravel(), w[:, 3]])))
    batches = iter([(torch.from_numpy(x).float(), torch.from_numpy(targets)) for x, targets in data])
    FedSOL(momentum=momentum, rho=rho).run(model, Job(cross_entropy, lambda: next(batches), [eta], 4))
    assert np.allclose(model.vector.numpy(), np.concatenate([y[:, :3].ravel(), y[:, 3]]), atol=2e-5)


def test_the_second_pass_is_elsewhere_and_leaves_only_its_gradient():
    model, single = FlatModel(network()), FlatModel(network())
    perturbed = _Perturbed(model, 1.0)
    x, y = stream()()
    perturbed.backward(cross_entropy, x, y)
    single.backward(cross_entropy, x, y)
    for one in (model, single):
        one.vector.add_(torch.linspace(-0.3, 0.4, one.layout.size))
    context, seen = model.vector.clone(), []

    def loss(outputs, targets):
        seen.append(model.vector.clone())
        return cross_entropy(outputs, targets)

    value = perturbed.backward(loss, x, y)
    assert torch.equal(model.vector, context)
    assert torch.equal(seen[0], context)
    assert 1e-3 < (seen[1] - context).norm() < 1.001  # ρ = 1 is the most
    # the loss and the statistics are those of one pass at y, the gradient is not
    assert value == single.backward(cross_entropy, x, y)
    assert model.weights().sha256() == single.weights().sha256()
    assert not torch.allclose(model.gradient, single.gradient, atol=1e-3)


def test_the_global_model_keeps_its_statistics():
    """It is compared with as it came down, not with the statistics that training has moved since."""
    model = FlatModel(network())
    perturbed, before = _Perturbed(model, 1.0), model.buffers()
    for _ in range(3):
        perturbed.backward(cross_entropy, *stream()())
    assert all(torch.equal(perturbed.buffers[name], buffer) for name, buffer in before.items())
    assert not torch.equal(model.buffers()["1.running_mean"], before["1.running_mean"])
    assert model.module.training


def test_it_is_for_classification():
    model = FlatModel(nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)))
    job = Job(nn.functional.mse_loss, lambda: (torch.ones(4, 3), torch.ones(4)), [0.1], 1)
    with pytest.raises(FieldError, match="class scores"):
        FedSOL().run(model, job)
