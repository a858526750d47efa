"""A module as one vector: every parameter is a view of it, and nothing else about the module changes."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from heteroselect.core.flat import FlatModel, Span, Weights
from heteroselect.errors import HeteroSelectError


class Net(nn.Module):
    """A parameter of its own, a convolution, batch norm, and a linear layer two levels down."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([2.0]))
        self.conv = nn.Conv2d(1, 2, 2)
        self.norm = nn.BatchNorm2d(2)
        self.head = nn.ModuleDict({"out": nn.Linear(8, 3)})

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * self.head["out"](torch.tanh(self.norm(self.conv(x))).flatten(1))


def net(seed: int = 0) -> Net:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Net()


def batch(seed: int = 1) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(6, 1, 3, 3, generator=generator), torch.randint(0, 3, (6,), generator=generator)


def flip_lowest_bit(values: Tensor) -> None:
    values.view(torch.int32)[0] ^= 1


def test_the_vector_is_all_parameters_in_order() -> None:
    module = net()
    model = FlatModel(module)
    assert torch.equal(model.vector, torch.cat([p.detach().flatten() for p in module.parameters()]))


def test_layout_names_every_parameter_and_every_layer() -> None:
    layout = FlatModel(net()).layout
    assert layout.size == 1 + 10 + 4 + 27
    assert layout.parameters == (
        Span("scale", 0, 1),
        Span("conv.weight", 1, 9),
        Span("conv.bias", 9, 11),
        Span("norm.weight", 11, 13),
        Span("norm.bias", 13, 15),
        Span("head.out.weight", 15, 39),
        Span("head.out.bias", 39, 42),
    )
    assert layout.layers == (Span("", 0, 1), Span("conv", 1, 11), Span("norm", 11, 15), Span("head.out", 15, 42))
    assert [len(span) for span in layout.layers] == [1, 10, 4, 27]
    assert layout.layers[1].slice == slice(1, 11)


def test_layers_without_a_name_in_common_stay_apart() -> None:
    model = FlatModel(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1, bias=False), nn.LSTM(1, 1, 2)))
    assert [span.name for span in model.layout.layers] == ["0", "2", "3"]
    assert [len(span) for span in model.layout.layers] == [9, 3, 32]


def test_parameters_are_views_of_the_vector() -> None:
    model = FlatModel(net())
    for parameter, span in zip(model.module.parameters(), model.layout.parameters, strict=True):
        assert parameter.data_ptr() == model.vector[span.slice].data_ptr()
        assert parameter.grad is not None
        assert parameter.grad.data_ptr() == model.gradient[span.slice].data_ptr()
    model.vector.fill_(0.5)
    assert all((p == 0.5).all() for p in model.module.parameters())


def test_the_users_module_is_left_alone() -> None:
    module = net()
    before = deepcopy(module.state_dict())
    model = FlatModel(module)
    model.vector.zero_()
    model.module(batch()[0])
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    assert all(p.grad is None for p in module.parameters())


def test_the_gradient_is_that_of_ordinary_autograd() -> None:
    module, model = net(), FlatModel(net())
    value = nn.functional.cross_entropy(module(batch()[0]), batch()[1])
    ordinary = torch.cat([g.flatten() for g in torch.autograd.grad(value, list(module.parameters()))])
    found = model.backward(nn.functional.cross_entropy, *batch())
    assert found == pytest.approx(value.item(), rel=1e-6)
    assert torch.allclose(model.gradient, ordinary, rtol=1e-5, atol=1e-7)
    assert ordinary.norm() > 0.1


def test_each_backward_starts_from_zero_and_keeps_the_views() -> None:
    model = FlatModel(net())
    model.module.eval()
    model.backward(nn.functional.cross_entropy, *batch())
    first = model.gradient.clone()
    model.backward(nn.functional.cross_entropy, *batch(2))
    assert not torch.equal(model.gradient, first)
    model.backward(nn.functional.cross_entropy, *batch())
    assert torch.equal(model.gradient, first)
    for parameter, span in zip(model.views, model.layout.parameters, strict=True):
        assert parameter.grad is not None
        assert parameter.grad.data_ptr() == model.gradient[span.slice].data_ptr()


def test_frozen_parameters_are_no_part_of_the_vector() -> None:
    module = net()
    module.conv.weight.requires_grad_(False)
    model = FlatModel(module)
    assert [span.name for span in model.layout.parameters][:2] == ["scale", "conv.bias"]
    assert model.layout.size == 42 - 8
    assert model.layout.layers[1] == Span("conv", 1, 3)
    model.backward(nn.functional.cross_entropy, *batch())
    assert torch.equal(model.module.conv.weight, module.conv.weight)  # type: ignore[arg-type, union-attr]


def test_a_shared_parameter_counts_once() -> None:
    layer = nn.Linear(2, 2)
    model = FlatModel(nn.Sequential(layer, nn.Tanh(), layer))
    assert model.layout.size == 6
    model.vector.fill_(1)
    assert model.module(torch.zeros(1, 2)).flatten().tolist() == pytest.approx([1 + 2 * 0.7615942] * 2)


@pytest.mark.parametrize(
    ("module", "words"),
    [(nn.ReLU(), "no parameter to train"), (nn.Linear(2, 2).double(), "float32"), (nn.Linear(2, 2).half(), "float32")],
)
def test_a_module_that_cannot_be_trained_is_refused(module: nn.Module, words: str) -> None:
    with pytest.raises(HeteroSelectError, match=words):
        FlatModel(module)


def test_weights_and_load_are_a_round_trip() -> None:
    source, target = FlatModel(net(0)), FlatModel(net(7))
    source.module(batch()[0])  # moves the batch-norm statistics
    weights = source.weights()
    assert weights.sha256() != target.weights().sha256()
    target.load(weights)
    assert target.weights().sha256() == weights.sha256()
    assert torch.equal(target.vector, source.vector)
    x = batch(3)[0]
    assert torch.equal(target.module.eval()(x), source.module.eval()(x))
    assert target.views[0].data_ptr() == target.vector.data_ptr(), "still views"


def test_weights_are_a_copy() -> None:
    model = FlatModel(net())
    weights = model.weights()
    before = weights.sha256()
    model.vector.add_(1)
    model.module(batch()[0])
    assert weights.sha256() == before
    target = FlatModel(net())
    target.load(weights)
    target.vector.add_(1)
    target.module(batch()[0])
    assert weights.sha256() == before


def test_buffers_are_the_batch_norm_statistics() -> None:
    model = FlatModel(net())
    assert list(model.buffers()) == ["norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
    x, _ = batch()
    conv = model.module.conv(x)  # type: ignore[operator, union-attr]
    model.module.train()(x)
    found = model.buffers()
    assert torch.allclose(found["norm.running_mean"], 0.1 * conv.mean((0, 2, 3)), atol=1e-6)
    assert torch.allclose(found["norm.running_var"], 0.9 + 0.1 * conv.var((0, 2, 3)), atol=1e-6)
    assert found["norm.num_batches_tracked"] == 1
    model.module(x)
    assert found["norm.num_batches_tracked"] == 1, "a copy"


def test_state_dict_is_the_modules_own() -> None:
    module = net()
    found = FlatModel(module).state_dict()
    assert list(found) == list(module.state_dict())
    assert all(torch.equal(found[name], value) for name, value in module.state_dict().items())
    pointers = {value.untyped_storage().data_ptr() for value in found.values()}
    assert len(pointers) == len(found), "each tensor apart"


def test_nbytes_and_statistics() -> None:
    weights = FlatModel(net()).weights()
    assert weights.nbytes == 4 * 42 + 4 * 2 + 4 * 2 + 8
    assert weights.has_statistics
    assert not FlatModel(nn.Linear(2, 2)).weights().has_statistics


def test_sha256_tells_a_single_bit() -> None:
    weights = FlatModel(net()).weights()
    assert weights.sha256() == FlatModel(net()).weights().sha256()
    vector = weights.vector.clone()
    flip_lowest_bit(vector)
    statistics = {name: value.clone() for name, value in weights.buffers.items()}
    flip_lowest_bit(statistics["norm.running_var"])
    count = weights.buffers | {"norm.num_batches_tracked": torch.tensor(1)}
    changed = [replace(weights, vector=vector), replace(weights, buffers=statistics), replace(weights, buffers=count)]
    assert len({w.sha256() for w in [weights, *changed]}) == 4
    turned = Weights(weights.vector, dict(reversed(weights.buffers.items())))
    assert turned.sha256() == weights.sha256(), "whatever the order of the buffers"
