"""The small AlexNet of the CIFAR-10 experiments (2,781,514 parameters).

After Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep convolutional neural networks"
(NeurIPS 2012), cut down to 32 x 32 inputs.
"""

from torch import nn

from heteroselect.errors import SettingError


def alexnet(shape: tuple[int, ...], classes: int, *, dropout: float = 0.5) -> nn.Module:
    channels, height, width = shape
    # a convolution of stride 2 halves the picture, rounding up, and three poolings do so rounding down
    cells = ((height + 1) // 16) * ((width + 1) // 16)
    if cells == 0:
        raise SettingError(f"model.name: alexnet needs images of 15 x 15 or more, not {height} x {width}.")
    return nn.Sequential(
        nn.Conv2d(channels, 64, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 192, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(192, 384, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(384, 256, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(256, 256, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(256 * cells, 512),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(512, classes),
    )
