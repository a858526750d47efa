"""The operations of a training step, counted by hand for two models."""

import pytest
import torch
from torch import nn

from heteroselect.core.draws import Draws
from heteroselect.core.flat import FlatModel
from heteroselect.core.flops import step_flops
from heteroselect.errors import HeteroSelectError

LOSS = nn.functional.cross_entropy


def counted(module, x):
    return step_flops(FlatModel(module), LOSS, x, torch.zeros(len(x), dtype=torch.int64), Draws())


def test_logistic_regression_by_hand():
    # forwards 2·B·784·10; backwards as much for the weights, and nothing for the inputs
    assert counted(nn.Sequential(nn.Flatten(), nn.Linear(784, 10)), torch.ones(32, 1, 28, 28)) == 2 * 2 * 32 * 784 * 10


def test_a_convolution_by_hand():
    # 4 filters of 3·3·3 at 6·6 places, and a layer from 144 to 10, whose inputs need a gradient, too
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10))
    convolution, layer = 2 * 8 * 36 * 4 * 27, 2 * 8 * 144 * 10
    assert counted(model, torch.ones(8, 3, 8, 8)) == 2 * convolution + 3 * layer


def test_the_model_stays_as_it_is():
    model = FlatModel(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)))
    before, generator = model.weights().sha256(), torch.get_rng_state()
    drawing = Draws(frozenset({nn.functional.dropout}))
    step_flops(model, LOSS, torch.randn(5, 4, generator=torch.Generator()), torch.zeros(5, dtype=torch.int64), drawing)
    assert model.weights().sha256() == before
    assert not model.gradient.any()
    assert torch.equal(torch.get_rng_state(), generator)


def test_a_model_without_anything_to_count_is_refused():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return self.scale * x

    with pytest.raises(HeteroSelectError, match=r"world\.devices: torch's counter finds no operation"):
        counted(Scaled(), torch.ones(2, 3))
