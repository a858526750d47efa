"""ResNet9, the network of the CIFAR-100 experiments (6,621,540 parameters with 100 classes).

A nine-layer relative of He et al., "Deep residual learning for image recognition" (CVPR 2016).
"""

from torch import Tensor, nn

from heteroselect.errors import SettingError


def _block(inputs: int, outputs: int, *, pool: bool = False) -> nn.Sequential:
    parts: list[nn.Module] = [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*parts, nn.MaxPool2d(2)) if pool else nn.Sequential(*parts)


class _Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(_block(channels, channels), _block(channels, channels))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.body(x)
        return out


def resnet9(shape: tuple[int, ...], classes: int) -> nn.Module:
    channels, height, width = shape
    if min(height, width) < 8:
        raise SettingError(f"model.name: resnet9 needs images of 8 x 8 or more, not {height} x {width}.")
    return nn.Sequential(
        _block(channels, 64),
        _block(64, 128, pool=True),
        _Residual(128),
        _block(128, 256, pool=True),
        _block(256, 512, pool=True),
        _Residual(512),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Linear(512, classes),
    )
