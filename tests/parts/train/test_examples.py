"""What a client reports where single examples count: the root mean square over them, and not over batches."""

import math

import pytest
import torch
from torch import Tensor, nn

from heteroselect.core.flat import FlatModel
from heteroselect.parts.train import SGD, FedSOL, Job
from heteroselect.parts.train.descent import noise_of

STILL = 1e-9  # a rate at which nothing moves


def own(outputs: Tensor, y: Tensor) -> Tensor:
    """A loss that knows no `reduction`."""
    return (outputs - y).square().mean()


def report(solver, loss, batches, module=None, *, rate=STILL, examples=True, noise=False):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = FlatModel(module() if module else nn.Linear(1, 1, bias=False))
    if module is None:
        model.vector.zero_()
    given = iter(batches)
    return solver.run(
        model, Job(loss, lambda: next(given), [rate], len(batches), examples=examples, noise=noise)
    ).report()


@pytest.mark.parametrize("loss", [own, nn.functional.mse_loss])
def test_the_loss_of_each_example_is_squared(loss):
    # a model that answers 0: losses 9 and 1, then 4 and 16; batches 5 and 10
    batches = [(torch.ones(2, 1), torch.tensor([[3.0], [1.0]])), (torch.ones(2, 1), torch.tensor([[2.0], [4.0]]))]
    found = report(SGD(clip=0.0), loss, batches)
    assert found == pytest.approx({"loss": 7.5, "rms": math.sqrt((81 + 1 + 16 + 256) / 4)})
    assert report(SGD(clip=0.0), loss, batches, examples=False)["rms"] == pytest.approx(math.sqrt((25 + 100) / 2))


@pytest.mark.parametrize("examples", [False, True])
def test_fedsol_reports_the_losses_where_a_step_starts(examples):
    """Without a perturbation it is SGD, whose gradient is taken once per step."""
    generator = torch.Generator().manual_seed(1)
    batches = [
        (torch.randn(8, 5, generator=generator), torch.randint(0, 3, (8,), generator=generator)) for _ in range(4)
    ]
    arguments = (nn.functional.cross_entropy, batches, lambda: nn.Linear(5, 3))
    plain = report(SGD(momentum=0.0, clip=0.0), *arguments, rate=0.5, examples=examples)
    moved = report(FedSOL(momentum=0.0, rho=0.0), *arguments, rate=0.5, examples=examples)
    assert moved == pytest.approx(plain, rel=1e-5)


def test_the_variance_of_gradients_is_reported_where_it_is_asked_for():
    """A model that answers 0 to x = 1 has the gradient −2y: −2 and −6, so a mean of −4 and a variance of 4 about it."""
    batches = [(torch.ones(1, 1), torch.tensor([[1.0]])), (torch.ones(1, 1), torch.tensor([[3.0]]))]
    assert report(SGD(clip=0.0), own, batches, noise=True)["variance"] == pytest.approx(4 / 16)
    assert report(SGD(clip=1.0, momentum=0.5), own, batches, noise=True)["variance"] == pytest.approx(4 / 16)
    assert report(SGD(clip=0.0), own, batches[:1], noise=True)["variance"] == 0.0
    assert "variance" not in report(SGD(clip=0.0), own, batches)


def test_the_variance_of_rows_is_that_of_each():
    total, squares = torch.tensor([[2.0, 2.0], [0.0, 0.0]]), torch.tensor([[10.0, 2.0], [4.0, 0.0]])
    both = noise_of(total, squares, 2)  # means (1, 1) and 0; variances 4 + 0 and 2
    assert both.tolist() == [2.0, 0.0], "without a mean gradient nothing moves, and nothing is noisy"
    assert [noise_of(total[row], squares[row], 2).item() for row in (0, 1)] == both.tolist()
