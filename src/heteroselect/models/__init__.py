"""The four networks of the paper and two small ones, built by name; a user's own module needs nothing from here."""

from torch import nn

from heteroselect.errors import SettingError
from heteroselect.models.alexnet import alexnet
from heteroselect.models.cnn import cnn
from heteroselect.models.gru import gru
from heteroselect.models.logistic import logistic
from heteroselect.models.resnet9 import resnet9
from heteroselect.models.resnet18 import resnet18

NAMES = ("logistic", "alexnet", "resnet9", "resnet18", "cnn", "gru")


def kaiming(module: nn.Module) -> nn.Module:
    """Normal weights of variance 2/fan-in, which keep the size of what passes through ReLUs, and no biases (He, Zhang,
    Ren, Sun, "Delving deep into rectifiers", ICCV 2015)."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
            if part.bias is not None:
                nn.init.zeros_(part.bias)
    return module


def build(name: str, shape: tuple[int, ...], classes: int, *, dropout: float = 0.5) -> nn.Module:
    """The network `name` for inputs of `shape` (channels, height, width for the image networks)."""
    if name not in NAMES:
        raise SettingError(f"model.name: no model {name!r}; choose one of {', '.join(NAMES)}.")
    if name == "logistic":
        return logistic(shape, classes)
    if name == "gru":
        return gru(shape, classes)
    if len(shape) != 3:
        needs = f"{name} takes images (channels, height, width), but the data has shape {shape}"
        raise SettingError(f"model.name: {needs}; choose logistic.")
    if name == "alexnet":
        return alexnet(shape, classes, dropout=dropout)
    return {"cnn": cnn, "resnet9": resnet9, "resnet18": resnet18}[name](shape, classes)
