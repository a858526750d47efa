"""Local training: by hand, and step for step against torch's own optimiser."""

import math
import threading
import time
import warnings
from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from heteroselect.core.flat import FlatModel
from heteroselect.parts.train import SGD, Job
from heteroselect.parts.train.descent import _scripted, fused, step

pytestmark = pytest.mark.slow  # they train, draw or start processes

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


def trained(part: SGD, module: nn.Module | None = None, rate: float = RATE) -> Tensor:
    model = FlatModel(module or network())
    part.run(model, Job(nn.functional.cross_entropy, stream(), [rate], part.steps))
    return model.vector


def by_torch(part: SGD, rate: float = RATE) -> Tensor:
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


def stepped(w, gradient, anchor, velocity, *, rate=1.0, proximal=0.0, clip=0.0, momentum=0.0) -> None:
    step(w, torch.tensor(gradient), anchor, velocity, [rate], proximal, clip, momentum)


def test_two_steps_by_hand() -> None:
    settings = {"rate": 0.1, "momentum": 0.5, "proximal": 0.5, "clip": 2.0}
    w, anchor, velocity = torch.zeros(2), torch.zeros(2), torch.zeros(2)
    # norm 5 is clipped to 2: g = (1.2, 1.6) = u, w = −0.1 u
    stepped(w, [3.0, 4.0], anchor, velocity, **settings)
    assert velocity.tolist() == pytest.approx([1.2, 1.6], rel=1e-5)
    assert w.tolist() == pytest.approx([-0.12, -0.16], rel=1e-5)
    # g = (1, 0) + 0.5 w = (0.94, −0.08) is short enough; u = 0.5 (1.2, 1.6) + g
    stepped(w, [1.0, 0.0], anchor, velocity, **settings)
    assert velocity.tolist() == pytest.approx([1.54, 0.72], rel=1e-5)
    assert w.tolist() == pytest.approx([-0.274, -0.232], rel=1e-5)
    assert anchor.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("start", "anchor", "gradient", "settings", "end"),
    [
        pytest.param(3.0, 1.0, 0.0, {"proximal": 0.5}, 2.0, id="the pull is towards the anchor"),
        # clip(−1 + 10) = 2; clipped before the pull it would be 9
        pytest.param(10.0, 0.0, -1.0, {"proximal": 1.0, "clip": 2.0}, 8.0, id="the clip acts on the sum"),
        pytest.param(0.0, 0.0, 0.5, {"clip": 2.0}, -0.5, id="a short gradient is not stretched"),
        pytest.param(0.0, 0.0, 50.0, {"clip": 0.0}, -50.0, id="0 does not clip"),
    ],
)
def test_one_step_by_hand(start, anchor, gradient, settings, end) -> None:
    w = torch.tensor([start])
    stepped(w, [gradient], torch.tensor([anchor]), torch.zeros(1), **settings)
    assert w.item() == pytest.approx(end, abs=1e-5)


@pytest.mark.parametrize(
    "part",
    [
        SGD(steps=12, proximal=0.1),
        SGD(steps=12, proximal=0.1, clip=0.3),
        SGD(steps=12, proximal=2.0, clip=0.5),
        SGD(steps=12, momentum=0.0, proximal=1.0, clip=0.0),
        SGD(steps=12, proximal=0.0, clip=0.0),
        SGD(steps=12, proximal=0.0, momentum=0.0, clip=1.0),
    ],
    ids=repr,
)
def test_it_is_what_torch_does(part: SGD) -> None:
    found, expected = trained(part), by_torch(part)
    assert torch.allclose(found, expected, rtol=0, atol=2e-6)
    assert (found - FlatModel(network()).vector).norm() > 0.05, "there was something to agree on"


def test_weight_decay_by_hand() -> None:
    """A loss without a gradient: each step leaves 1 − ην of the weights, and the clip bounds ν‖w‖ as any gradient."""
    for clip, left in ((0.0, 0.9**3), (0.1, 1 - 3 * 0.5 * 0.1 / math.sqrt(2))):
        model = FlatModel(nn.Linear(2, 1, bias=False))
        model.vector.fill_(1.0)
        batches = lambda: (torch.zeros(1, 2), torch.zeros(1))  # noqa: E731
        SGD(momentum=0.0, clip=clip, decay=0.2).run(model, Job(lambda out, _: out.sum(), batches, [0.5], 3))
        assert model.vector.tolist() == pytest.approx([left, left], rel=1e-5)


def test_a_centred_step_by_hand() -> None:
    """Loss y₁ + 2y₂ of y = Wx + b with x = (1, 2, 6): its gradient has the rows x and 2x, which lose 3 and 6."""
    model = FlatModel(nn.Linear(3, 2))
    model.vector.zero_()
    batches = lambda: (torch.tensor([[1.0, 2.0, 6.0]]), torch.zeros(1))  # noqa: E731
    loss = lambda out, _: out[0, 0] + 2 * out[0, 1]  # noqa: E731
    SGD(momentum=0.0, clip=0.0, centre=True).run(model, Job(loss, batches, [1.0], 1))
    assert model.vector.tolist() == pytest.approx([2, 1, -3, 4, 2, -6, -1, -2])


def test_centred_gradients_do_not_change_the_sum_of_any_units_weights() -> None:
    """Of convolutions, whatever the order in which they lie in memory, and of layers; biases and what batch-norm trains
    go their own way."""
    network = nn.Sequential(
        nn.Conv2d(2, 4, 3).to(memory_format=torch.channels_last), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 3)
    )
    generator = torch.Generator().manual_seed(3)
    batches = lambda: (torch.randn(8, 2, 3, 3, generator=generator), torch.arange(8) % 3)  # noqa: E731
    model = FlatModel(network)
    before = [p.detach().clone() for p in model.views]
    SGD(centre=True).run(model, Job(nn.functional.cross_entropy, batches, [RATE], 5))
    moved = [(after - old).detach() for after, old in zip(model.views, before, strict=True)]
    assert all(change.abs().max() > 1e-3 for change in moved[2:])
    for change in moved:
        if change.dim() > 1:
            assert change.abs().max() > 1e-3
            assert change.flatten(1).sum(1).abs().max() < 1e-6


def test_units_with_one_input_are_trained_as_ever() -> None:
    """The mean of a single value is that value: nothing would be left of it."""
    model = FlatModel(nn.Linear(1, 2, bias=False))
    model.vector.zero_()
    batches = lambda: (torch.tensor([[3.0]]), torch.zeros(1))  # noqa: E731
    SGD(momentum=0.0, clip=0.0, centre=True).run(model, Job(lambda out, _: out.sum(), batches, [0.5], 1))
    assert model.vector.tolist() == [-1.5, -1.5]


def test_weight_decay_pulls_at_the_sums_that_centred_gradients_leave() -> None:
    model = FlatModel(nn.Linear(2, 1, bias=False))
    model.vector.copy_(torch.tensor([3.0, 1.0]))
    batches = lambda: (torch.tensor([[2.0, 4.0]]), torch.zeros(1))  # noqa: E731
    # (2, 4) loses its mean, and 0.1 of each weight comes on top: (3, 1) − ½((−1, 1) + (0.3, 0.1))
    SGD(momentum=0.0, clip=0.0, decay=0.1, centre=True).run(model, Job(lambda out, _: out.sum(), batches, [0.5], 1))
    assert model.vector.tolist() == pytest.approx([3.35, 0.45])


def test_the_clip_is_for_what_is_left_of_a_centred_gradient() -> None:
    model = FlatModel(nn.Linear(2, 1, bias=False))
    model.vector.zero_()
    batches = lambda: (torch.tensor([[97.0, 103.0]]), torch.zeros(1))  # noqa: E731
    SGD(momentum=0.0, clip=5.0, centre=True).run(model, Job(lambda out, _: out.sum(), batches, [1.0], 1))
    assert model.vector.tolist() == pytest.approx([3, -3])


def test_it_reports_the_mean_loss_of_the_batches_seen() -> None:
    """One weight, loss (w − y): the gradient is 1 everywhere, so w is 0, −½, −1 as the batches go by."""
    model = FlatModel(nn.Linear(1, 1, bias=False))
    model.vector.zero_()
    targets = iter([1.0, 2.0, 4.0])
    batches = lambda: (torch.ones(1, 1), torch.tensor([next(targets)]))  # noqa: E731
    part = SGD(steps=3, momentum=0.0, proximal=0.0, clip=0.0)
    report = part.run(model, Job(lambda out, y: (out - y).mean(), batches, [0.5], 3)).report()
    losses = np.array([0 - 1, -0.5 - 2, -1 - 4])
    assert report["loss"] == pytest.approx(losses.mean())
    assert report["rms"] == pytest.approx(np.sqrt((losses**2).mean()))
    assert model.vector.tolist() == [-1.5]
    assert next(targets, None) is None


def test_it_trains_in_training_mode() -> None:
    model = FlatModel(nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(3)))
    model.module.eval()
    SGD().run(model, Job(nn.functional.cross_entropy, stream(), [RATE], 4))
    assert model.buffers()["1.num_batches_tracked"] == 4


def test_warnings_are_heard_again_when_two_workers_have_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each silences the process while it compiles. The second to begin is the last to end."""
    pauses = iter([0.1, 0.2])
    monkeypatch.setattr("torch.jit.script", lambda given: time.sleep(next(pauses)) or given)
    _scripted.cache_clear()
    with warnings.catch_warnings():
        before = list(warnings.filters)
        workers = [threading.Thread(target=fused) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert warnings.filters == before
    _scripted.cache_clear()


@pytest.mark.parametrize("rates", [[0.1], [0.1, 0.2, 0.05]])
@pytest.mark.parametrize(("proximal", "clip", "momentum"), [(0.1, 2.0, 0.9), (0.0, 0.5, 0.0), (0.3, 0.0, 0.5)])
def test_the_operators_of_a_step_in_one_call_give_the_same_bits(rates, proximal, clip, momentum):
    """Also after the runs in which torch settles how to run them."""
    generator = torch.Generator().manual_seed(1)
    plain = [torch.randn(3, 7850, generator=generator) for _ in range(4)]
    other = [tensor.clone() for tensor in plain]
    for _ in range(6):
        step(*plain, rates, proximal, clip, momentum)
        fused()(*other, rates, proximal, clip, momentum)
        assert all(torch.equal(*pair) for pair in zip(plain, other, strict=True))
        noise = torch.randn(3, 7850, generator=generator)
        plain[1].copy_(noise)
        other[1].copy_(noise)
