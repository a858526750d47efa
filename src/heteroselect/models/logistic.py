"""Multinomial logistic regression: the paper's convex check (7,850 parameters on MNIST)."""

from math import prod

from torch import nn


def logistic(shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), classes))
