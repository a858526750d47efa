"""What the tests of compressors share: a scene to compress in, vectors, and when two updates are the same."""

import numpy as np
import torch
from torch import Tensor, nn

from heteroselect.compress import Scene
from heteroselect.compress.update import Update
from heteroselect.flat import FlatModel


def unlooked() -> Tensor:
    raise AssertionError("no loss was to be asked for")


def scene(*sizes: int, seed: int = 0) -> Scene:
    """Layers of these sizes, and randomness."""
    model = FlatModel(nn.Sequential(*(nn.Linear(size, 1, bias=False) for size in sizes)))
    return Scene(model, unlooked, 0.0, None, False, np.random.default_rng(seed), torch.Generator())


def array(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def normal(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)


def assert_same(a: Update, b: Update) -> None:
    assert a.size == b.size
    assert a.positions.tolist() == b.positions.tolist()
    assert a.values.tobytes() == b.values.tobytes()
    assert (a.coded is None) == (b.coded is None)
    if a.coded is not None and b.coded is not None:
        assert (a.coded.kind, a.coded.steps) == (b.coded.kind, b.coded.steps)
        assert a.coded.codes.tolist() == b.coded.codes.tolist()
        assert a.coded.scales.tobytes() == b.coded.scales.tobytes()
        assert a.coded.ends.tolist() == b.coded.ends.tolist()
