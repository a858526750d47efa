"""The networks: counted to the parameter, and AlexNet layer by layer."""

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from heteroselect import models
from heteroselect.errors import HeteroSelectError

pytestmark = pytest.mark.slow  # they train, draw or start processes

NETWORKS = [
    ("logistic", (1, 28, 28), 10, 7_850),
    ("alexnet", (3, 32, 32), 10, 2_781_514),
    ("resnet9", (3, 32, 32), 100, 6_621_540),
    ("resnet18", (3, 64, 64), 200, 11_271_432),
    ("cnn", (1, 28, 28), 10, 114_314),
]
GRU = ("gru", (80,), 76, 74_444)


@pytest.fixture(autouse=True)
def same_weights_every_time() -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


@pytest.mark.parametrize(("name", "shape", "classes", "parameters"), NETWORKS)
def test_parameters_and_outputs(name: str, shape: tuple[int, ...], classes: int, parameters: int) -> None:
    module = models.build(name, shape, classes)
    assert sum(p.numel() for p in module.parameters()) == parameters
    assert all(p.requires_grad and p.dtype == torch.float32 for p in module.parameters())
    with torch.no_grad():
        assert module(torch.zeros(2, *shape)).shape == (2, classes)


def test_every_name_is_built() -> None:
    assert list(models.NAMES) == [name for name, *_ in (*NETWORKS, GRU)]


def test_the_gru_tells_the_next_symbol_after_each_from_those_before() -> None:
    name, shape, symbols, parameters = GRU
    module = models.build(name, shape, symbols)
    assert sum(p.numel() for p in module.parameters()) == parameters
    x = torch.arange(2 * 80).view(2, 80).remainder(76).to(torch.uint8)
    other = x.clone()
    other[:, 50] = 75 - other[:, 50]
    with torch.no_grad():
        first, second = module(x), module(other)
    assert first.shape == (2, 76, 80)
    assert torch.equal(first[:, :, :50], second[:, :, :50])
    assert not torch.equal(first[:, :, 50:], second[:, :, 50:])
    with pytest.raises(HeteroSelectError, match="gru takes sequences of whole numbers"):
        module(x.float())
    with pytest.raises(HeteroSelectError, match="gru takes sequences of symbols"):
        models.build("gru", (1, 28, 28), 10)


def described(layer: nn.Module) -> tuple[object, ...]:
    match layer:
        case nn.Conv2d():
            assert layer.bias is not None
            return "conv", layer.in_channels, layer.out_channels, layer.kernel_size, layer.stride, layer.padding
        case nn.MaxPool2d():
            return "pool", layer.kernel_size, layer.stride, layer.padding
        case nn.Linear():
            assert layer.bias is not None
            return "linear", layer.in_features, layer.out_features
        case nn.Dropout():
            return "dropout", layer.p
    return (type(layer).__name__.lower(),)


def conv(inputs: int, outputs: int, stride: int = 1) -> tuple[object, ...]:
    return "conv", inputs, outputs, (3, 3), (stride, stride), (1, 1)


def test_alexnet_layer_by_layer() -> None:
    pool = ("pool", 2, 2, 0)
    assert [described(layer) for layer in models.build("alexnet", (3, 32, 32), 10, dropout=0.25).children()] == [
        conv(3, 64, stride=2),
        ("relu",),
        pool,
        conv(64, 192),
        ("relu",),
        pool,
        conv(192, 384),
        ("relu",),
        conv(384, 256),
        ("relu",),
        conv(256, 256),
        ("relu",),
        pool,
        ("flatten",),
        ("linear", 1024, 512),
        ("relu",),
        ("dropout", 0.25),
        ("linear", 512, 10),
    ]


@pytest.mark.parametrize(("name", "norms"), [("alexnet", 0), ("resnet9", 8), ("resnet18", 20)])
def test_batch_norm_follows_every_convolution_of_the_resnets(name: str, norms: int) -> None:
    module = models.build(name, (3, 64, 64), 10)
    assert sum(isinstance(layer, nn.BatchNorm2d) for layer in module.modules()) == norms
    if norms:
        assert sum(isinstance(layer, nn.Conv2d) for layer in module.modules()) == norms


@pytest.mark.parametrize("name", ["resnet9", "resnet18"])
def test_a_residual_block_passes_its_input_on(name: str) -> None:
    """With the last normalisation of the block silenced, only the way around is left."""
    module = models.build(name, (3, 16, 16), 10)
    # the first block with a way around: resnet9's of 128 channels, resnet18's of 64
    block = next(part for part in module.children() if hasattr(part, "body")).eval()
    last = [layer for layer in block.modules() if isinstance(layer, nn.BatchNorm2d)][-1]
    nn.init.zeros_(last.weight)
    x = torch.rand(2, 128 if name == "resnet9" else 64, 4, 4)
    with torch.no_grad():
        assert torch.equal(block(x), x)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("logistic", (7,)),
        ("logistic", (2, 3, 4, 5)),
        ("alexnet", (1, 16, 16)),
        ("alexnet", (1, 28, 28)),
        ("alexnet", (3, 48, 32)),
        ("alexnet", (1, 15, 15)),
        ("alexnet", (1, 47, 47)),
        ("resnet9", (1, 28, 28)),
        ("resnet18", (1, 8, 8)),
        ("cnn", (3, 5, 9)),
    ],
)
def test_other_shapes_fit(name: str, shape: tuple[int, ...]) -> None:
    module = models.build(name, shape, 3)
    with torch.no_grad():
        assert module(torch.zeros(2, *shape)).shape == (2, 3)


def test_an_unknown_name_is_refused_with_those_allowed() -> None:
    with pytest.raises(HeteroSelectError, match=r"model\.name.*choose one of logistic, alexnet, resnet9, resnet18"):
        models.build("AlexNet", (3, 32, 32), 10)


@pytest.mark.parametrize("name", ["alexnet", "resnet9", "resnet18", "cnn"])
@pytest.mark.parametrize("shape", [(784,), (32, 32), (1, 3, 32, 32)])
def test_an_image_network_takes_images_only(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(HeteroSelectError, match=rf"model\.name: {name} takes images.*logistic"):
        models.build(name, shape, 10)


@pytest.mark.parametrize(
    ("name", "shape", "least"),
    [
        ("alexnet", (3, 8, 8), "15 x 15"),
        ("alexnet", (3, 32, 8), "15 x 15"),
        ("alexnet", (3, 8, 32), "15 x 15"),
        ("resnet9", (3, 4, 4), "8 x 8"),
        ("cnn", (1, 3, 28), "4 x 4"),
    ],
)
def test_pictures_that_vanish_in_the_pools_are_refused(name: str, shape: tuple[int, ...], least: str) -> None:
    with pytest.raises(HeteroSelectError, match=rf"model\.name: {name} needs images of {least} or more"):
        models.build(name, shape, 10)


def test_kaiming_keeps_the_size_of_what_passes_through() -> None:
    """Variance 2/fan-in and no biases: at the last hidden layer the signal is as large as at the first, where the usual
    initialisation has let it shrink to a fraction."""
    x = torch.randn(64, 3, 32, 32)

    def shrinks(module: nn.Module) -> float:
        with torch.no_grad():
            first, last = module[:2](x), module[:16](x)
        return float(last.square().mean().sqrt() / first.square().mean().sqrt())

    usual, kaiming = models.build("alexnet", (3, 32, 32), 10), models.kaiming(models.build("alexnet", (3, 32, 32), 10))
    assert shrinks(usual) < 0.1
    assert 0.5 < shrinks(kaiming) < 4
    for part in kaiming.modules():
        if isinstance(part, nn.Conv2d | nn.Linear):
            assert float(part.weight.detach().var() * part.weight[0].numel()) == pytest.approx(2, rel=0.15)
            assert not part.bias.any()
