"""Weights of convolutions may lie with their channels together: model, gradient and curvature are the same."""

import torch
from torch import nn

from heteroselect.core.flat import FlatModel, flattened, shaped
from heteroselect.parts.compress.curvature import hutchinson


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Conv2d(4, 2, 2), nn.Flatten(), nn.Linear(8, 5))


def models() -> tuple[FlatModel, FlatModel]:
    plain = network()
    return FlatModel(plain), FlatModel(network().to(memory_format=torch.channels_last))


def test_a_flat_model_keeps_the_order_its_parameters_have() -> None:
    plain, other = models()
    assert other.views[0].is_contiguous(memory_format=torch.channels_last)
    for one, two in zip(plain.views, other.views, strict=True):
        assert torch.equal(one, two)
    assert not torch.equal(plain.vector, other.vector)
    assert torch.equal(plain.vector.sort().values, other.vector.sort().values)
    assert all(torch.equal(a, b) for a, b in zip(plain.state_dict().values(), other.state_dict().values(), strict=True))


def test_gradient_and_curvature_belong_to_the_coordinates_they_stand_at() -> None:
    plain, other = models()
    x, y = torch.randn(6, 3, 5, 5), torch.arange(6) % 5
    found = []
    for model in (plain, other):
        model.backward(nn.functional.cross_entropy, x, y)
        loss = nn.functional.cross_entropy(model.module(x), y)
        layers = model.layout.layers
        curvature = hutchinson(model, loss, layers, 0.1, torch.Generator().manual_seed(2))
        spans = model.layout.parameters
        whole = torch.cat([torch.from_numpy(curvature[span]) for span in layers])
        found.append(
            [
                (shaped(model.gradient[span.slice], view), shaped(whole[span.slice], view))
                for span, view in zip(spans, model.views, strict=True)
            ]
        )
    for (g, h), (g2, h2) in zip(*found, strict=True):
        torch.testing.assert_close(g2, g, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(h2, h, rtol=1e-3, atol=1e-5)


def test_rows_of_a_matrix_are_shaped_alike_and_back() -> None:
    _, other = models()
    view, span = other.views[0], other.layout.parameters[0]
    matrix = torch.stack([other.vector, 2 * other.vector])
    both = shaped(matrix[:, span.slice], view)
    assert torch.equal(both[0], view)
    assert torch.equal(both[1], 2 * view)
    assert torch.equal(flattened(both[1], view), matrix[1, span.slice])
