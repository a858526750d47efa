"""A small network for pictures of 28 x 28 (114,314 parameters with 10 classes): two convolutions and two layers.

The shape of McMahan et al., "Communication-efficient learning of deep networks from decentralized data" (AISTATS 2017),
with half of its channels and an eighth of its hidden units.
"""

from torch import nn

from heteroselect.errors import SettingError


def cnn(shape: tuple[int, ...], classes: int) -> nn.Module:
    channels, height, width = shape
    cells = (height // 4) * (width // 4)
    if cells == 0:
        raise SettingError(f"model.name: cnn needs images of 4 x 4 or more, not {height} x {width}.")
    return nn.Sequential(
        nn.Conv2d(channels, 16, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * cells, 64),
        nn.ReLU(),
        nn.Linear(64, classes),
    )
