"""ResNet-18 with a 3 x 3 stem for 64 x 64 pictures (11,271,432 parameters with 200 classes).

He, Zhang, Ren, Sun, "Deep residual learning for image recognition" (CVPR 2016); stride 1 at the stem and
no first pooling, as the Tiny-ImageNet experiments use it.
"""

from torch import Tensor, nn


def _convolution(inputs: int, outputs: int, size: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False),
        nn.BatchNorm2d(outputs),
    )


class _Basic(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            _convolution(inputs, outputs, 3, stride), nn.ReLU(), _convolution(outputs, outputs, 3, 1)
        )
        same = inputs == outputs and stride == 1
        self.skip = nn.Identity() if same else _convolution(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.relu(self.body(x) + self.skip(x))


def resnet18(shape: tuple[int, ...], classes: int) -> nn.Module:
    stages: list[nn.Module] = []
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        stages += [_Basic(inputs, outputs, stride), _Basic(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(
        _convolution(shape[0], 64, 3, 1),
        nn.ReLU(),
        *stages,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(512, classes),
    )
