"""Local training: by hand, and step for step against torch's own optimiser."""

from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from heteroselect.flat import FlatModel
from heteroselect.train import FedProx
from heteroselect.train.fedprox import _fused, step

Batch = tuple[Tensor, Tensor]
RATE = 0.1


def network(seed: int = 0) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))


def stream(seed: int = 1) -> Callable[[], Batch]:
    generator = torch.Generator().manual_seed(seed)
    return lambda: (
        3 * torch.randn(16, 5, generator=generator),
        torch.randint(0, 3, (16,), generator=generator),
    )


def trained(part: FedProx, module: nn.Module | None = None, rate: float = RATE) -> Tensor:
    model = FlatModel(module or network())
    part.run(model, nn.functional.cross_entropy, stream(), [rate])
    return model.vector


def by_torch(part: FedProx, rate: float = RATE) -> Tensor:
    """SGD with momentum, an explicit proximal gradient, and torch's clipping of their sum."""
    module = network()
    anchor = deepcopy(list(module.parameters()))
    optimiser = torch.optim.SGD(module.parameters(), lr=rate, momentum=part.momentum)
    batches = stream()
    for _ in range(part.steps):
        x, y = batches()
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(x), y).backward()
        for p, p0 in zip(module.parameters(), anchor, strict=True):
            assert p.grad is not None
            p.grad += part.proximal * (p - p0).detach()
        if part.clip:
            nn.utils.clip_grad_norm_(module.parameters(), part.clip)
        optimiser.step()
    return torch.cat([p.detach().flatten() for p in module.parameters()])


def test_two_steps_by_hand() -> None:
    part = FedProx(momentum=0.5, proximal=0.5, clip=2.0)
    w, anchor, velocity = torch.zeros(2), torch.zeros(2), torch.zeros(2)
    # norm 5 is clipped to 2: g = (1.2, 1.6) = u, w = −0.1 u
    part.step(w, torch.tensor([3.0, 4.0]), anchor, velocity, [0.1])
    assert velocity.tolist() == pytest.approx([1.2, 1.6], rel=1e-5)
    assert w.tolist() == pytest.approx([-0.12, -0.16], rel=1e-5)
    # g = (1, 0) + 0.5 w = (0.94, −0.08) is short enough; u = 0.5 (1.2, 1.6) + g
    part.step(w, torch.tensor([1.0, 0.0]), anchor, velocity, [0.1])
    assert velocity.tolist() == pytest.approx([1.54, 0.72], rel=1e-5)
    assert w.tolist() == pytest.approx([-0.274, -0.232], rel=1e-5)
    assert anchor.tolist() == [0, 0]


def test_the_pull_is_towards_the_anchor() -> None:
    w = torch.tensor([3.0])
    FedProx(momentum=0, proximal=0.5, clip=0).step(w, torch.zeros(1), torch.tensor([1.0]), torch.zeros(1), [1.0])
    assert w.tolist() == [2.0]


def test_the_clip_acts_on_task_and_proximal_gradient_together() -> None:
    w, anchor = torch.tensor([10.0]), torch.tensor([0.0])
    FedProx(momentum=0, proximal=1.0, clip=2.0).step(w, torch.tensor([-1.0]), anchor, torch.zeros(1), [1.0])
    assert w.item() == pytest.approx(8.0, abs=1e-5)  # clip(−1 + 10) = 2; clipped before the pull it would be 9


def test_a_short_gradient_is_not_stretched() -> None:
    w = torch.zeros(1)
    FedProx(momentum=0, proximal=0, clip=2.0).step(w, torch.tensor([0.5]), torch.zeros(1), torch.zeros(1), [1.0])
    assert w.tolist() == [-0.5]


def test_clip_zero_does_not_clip() -> None:
    w = torch.zeros(1)
    FedProx(momentum=0, proximal=0, clip=0).step(w, torch.tensor([50.0]), torch.zeros(1), torch.zeros(1), [1.0])
    assert w.tolist() == [-50.0]


@pytest.mark.parametrize(
    "part",
    [
        FedProx(steps=12),
        FedProx(steps=12, clip=0.3),
        FedProx(steps=12, proximal=2.0, clip=0.5),
        FedProx(steps=12, momentum=0.0, proximal=1.0, clip=0.0),
        FedProx(steps=12, proximal=0.0, clip=0.0),
        FedProx(steps=12, proximal=0.0, momentum=0.0, clip=1.0),
    ],
    ids=repr,
)
def test_it_is_what_torch_does(part: FedProx) -> None:
    found, expected = trained(part), by_torch(part)
    assert torch.allclose(found, expected, rtol=0, atol=2e-6)
    assert (found - FlatModel(network()).vector).norm() > 0.05, "there was something to agree on"


def test_the_first_step_feels_no_pull() -> None:
    free, pulled = (trained(FedProx(steps=1, proximal=mu)) for mu in (0.0, 5.0))
    assert torch.allclose(free, pulled, rtol=0, atol=1e-6)
    free, pulled = (trained(FedProx(steps=2, proximal=mu)) for mu in (0.0, 5.0))
    assert not torch.allclose(free, pulled, rtol=0, atol=1e-3)


class Valley(nn.Module):
    """½ (w − 1)ᵀA(w − 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * (torch.tensor([2.0, 0.5, 0.1]) * (self.w - 1).pow(2)).sum() + 0 * x.sum()


def test_a_stronger_pull_never_leads_further_away_on_a_quadratic() -> None:
    lengths = []
    for mu in (0.0, 0.001, 0.01, 0.1, 1.0, 5.0):
        model = FlatModel(Valley())
        part = FedProx(steps=60, momentum=0.0, proximal=mu, clip=0.0)
        part.run(model, lambda out, _: out, lambda: (torch.zeros(1), torch.zeros(1)), rates=[0.1])
        lengths.append(float(model.vector.norm()))
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < 0.4 * lengths[0]


def test_it_reports_the_mean_loss_of_the_batches_seen() -> None:
    """One weight, loss (w − y): the gradient is 1 everywhere, so w is 0, −½, −1 as the batches go by."""
    model = FlatModel(nn.Linear(1, 1, bias=False))
    model.vector.zero_()
    targets = iter([1.0, 2.0, 4.0])
    batches = lambda: (torch.ones(1, 1), torch.tensor([next(targets)]))  # noqa: E731
    part = FedProx(steps=3, momentum=0.0, proximal=0.0, clip=0.0)
    report = part.run(model, lambda out, y: (out - y).mean(), batches, rates=[0.5]).report()
    losses = np.array([0 - 1, -0.5 - 2, -1 - 4])
    assert report["loss"] == pytest.approx(losses.mean())
    assert report["rms"] == pytest.approx(np.sqrt((losses**2).mean()))
    assert model.vector.tolist() == [-1.5]
    assert next(targets, None) is None


def test_it_trains_in_training_mode() -> None:
    model = FlatModel(nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(3)))
    model.module.eval()
    FedProx(steps=4).run(model, nn.functional.cross_entropy, stream(), [RATE])
    assert model.buffers()["1.num_batches_tracked"] == 4


def test_momentum_and_anchor_are_fresh_each_time() -> None:
    model, part = FlatModel(network()), FedProx(steps=5, proximal=1.0)
    start = model.weights()
    part.run(model, nn.functional.cross_entropy, stream(), [RATE])
    first = model.vector.clone()
    model.load(start)
    part.run(model, nn.functional.cross_entropy, stream(), [RATE])
    assert torch.equal(model.vector, first)


def test_it_learns() -> None:
    centres = 3 * torch.eye(3, 5)

    def batches() -> Batch:
        y = torch.arange(30) % 3
        return centres[y] + 0.1 * torch.linspace(-1, 1, 30)[:, None], y

    model = FlatModel(network())
    before = model.backward(nn.functional.cross_entropy, *batches())
    FedProx(steps=50).run(model, nn.functional.cross_entropy, batches, [0.05])
    after = model.backward(nn.functional.cross_entropy, *batches())
    assert after < 0.2 * before


@pytest.mark.parametrize("rates", [[0.1], [0.1, 0.2, 0.05]])
@pytest.mark.parametrize(("proximal", "clip", "momentum"), [(0.1, 2.0, 0.9), (0.0, 0.5, 0.0), (0.3, 0.0, 0.5)])
def test_the_operators_of_a_step_in_one_call_give_the_same_bits(rates, proximal, clip, momentum):
    """Also after the runs in which torch settles how to run them."""
    generator = torch.Generator().manual_seed(1)
    plain = [torch.randn(3, 7850, generator=generator) for _ in range(4)]
    fused = [tensor.clone() for tensor in plain]
    for _ in range(6):
        step(*plain, rates, proximal, clip, momentum)
        _fused()(*fused, rates, proximal, clip, momentum)
        assert all(torch.equal(one, other) for one, other in zip(plain, fused, strict=True))
        noise = torch.randn(3, 7850, generator=generator)
        plain[1].copy_(noise)
        fused[1].copy_(noise)
