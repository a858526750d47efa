"""The loss that knows a client's labels: worked by hand, and what it is for."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from heteroselect.core.flat import FlatModel
from heteroselect.core.part import FieldError
from heteroselect.parts.train import SGD, Calibrated, Job


def scores(classes=2):
    """A model whose only parameters are the scores of the classes, whatever comes in."""
    module = nn.Linear(1, classes)
    nn.init.zeros_(module.weight)
    nn.init.zeros_(module.bias)
    return FlatModel(module)


def test_the_first_gradient_by_hand():
    # three examples of class 0 and one of class 1, and one more each: shares 4/6 and 2/6. At equal scores the loss
    # sees softmax(log p) = p, so a batch of class 1 alone has the gradient (4/6, 2/6 − 1) in the biases.
    labels = torch.tensor([0, 0, 0, 1])
    model = scores()
    job = Job(cross_entropy, lambda: (torch.zeros(4, 1), torch.ones(4, dtype=torch.long)), [0.3], 1, labels=labels)
    loss = Calibrated(momentum=0.0, clip=0.0).run(model, job).loss
    assert float(loss) == pytest.approx(math.log(6 / 2))
    assert model.module.bias.tolist() == pytest.approx([-0.3 * 4 / 6, 0.3 * 4 / 6])


@pytest.mark.parametrize("labels", [torch.tensor([0, 0, 0, 0, 0, 0, 0, 0, 1, 1]), torch.zeros(10, dtype=torch.long)])
def test_a_client_does_not_teach_how_frequent_its_classes_are(labels):
    """Trained to the end on inputs that say nothing, SGD learns the client's own shares; the calibrated loss learns
    nothing but what the smoothing leaves."""

    def learnt(solver):
        model = scores()
        solver.run(model, Job(cross_entropy, lambda: (torch.zeros(10, 1), labels), [0.5], 400, labels=labels))
        return float(model.module.bias.detach().softmax(0)[0])

    assert learnt(SGD(momentum=0.0, clip=0.0)) > 0.79
    some = bool((labels == 1).any())
    assert learnt(Calibrated(momentum=0.0, clip=0.0, smoothing=1e-6)) == pytest.approx(0.5, abs=1e-4 if some else 0.01)


@pytest.mark.parametrize(
    ("solver", "labels"), [(Calibrated(strength=0.0), torch.tensor([0, 0, 1])), (Calibrated(), None)]
)
def test_without_strength_or_labels_it_is_sgd(solver, labels):
    x, y = torch.randn(6, 1, generator=torch.Generator().manual_seed(1)), torch.tensor([0, 1, 1, 0, 1, 1])
    found = []
    for part in (solver, SGD()):
        model = scores()
        part.run(model, Job(cross_entropy, lambda: (x, y), [0.1], 3, labels=labels))
        found.append(model.vector.numpy().copy())
    np.testing.assert_array_equal(*found)


def test_it_is_for_classes():
    job = Job(nn.functional.mse_loss, lambda: (torch.zeros(2, 1), torch.zeros(2, 1)), [0.1], 1, labels=torch.zeros(2))
    with pytest.raises(FieldError, match="one class per example"):
        Calibrated().run(scores(1), job)
