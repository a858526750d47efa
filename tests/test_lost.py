"""Ideas that lost: what is kept of them does what it says."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.random import default_rng
from torch import nn

from heteroselect.core.flat import FlatModel
from heteroselect.models import build
from heteroselect.parts.train import SGD, Job, ServerContext
from scripts import script

lost = script("studies/lost.py")

SIZE = sum(rows * columns + rows for rows, columns in lost.SHAPES)


def vector(seed: int) -> np.ndarray:
    return default_rng(seed).standard_normal(SIZE).astype(np.float32)


def test_the_shapes_are_those_of_alexnet():
    shapes = [tuple(p.shape) for p in build("alexnet", (3, 32, 32), 10).parameters() if p.dim() > 1]
    assert [(shape[0], int(np.prod(shape[1:]))) for shape in shapes] == list(lost.SHAPES)


def test_noise_alone_is_taken_away_and_a_strong_direction_stays():
    rng = default_rng(0)
    noise = rng.standard_normal((64, 256)).astype(np.float32)
    assert np.linalg.norm(lost.shrunk(noise)) < 0.2 * np.linalg.norm(noise)
    left, right = rng.standard_normal(64), rng.standard_normal(256)
    signal = (100 * np.outer(left / np.linalg.norm(left), right / np.linalg.norm(right))).astype(np.float32)
    found = lost.shrunk(signal + noise)
    assert np.linalg.norm(found - signal) < 0.25 * np.linalg.norm(noise)
    assert np.linalg.matrix_rank(found, tol=1.0) < 4


def test_the_median_of_noise_is_that_of_its_law():
    values = np.linalg.svd(default_rng(1).standard_normal((300, 900)), compute_uv=False)
    assert np.median(values**2 / 900) == pytest.approx(lost._median(1 / 3), rel=0.02)


def test_with_nothing_shrunk_it_is_look_ahead(monkeypatch):
    monkeypatch.setattr(lost, "denoised", np.copy)
    mine, theirs = {}, {}
    for seed in range(3):
        mine, step = lost.Denoised().step(mine, vector(seed))
        theirs, other = lost.LookAhead(0.8).step(theirs, vector(seed))
        np.testing.assert_allclose(step, other, atol=1e-4)


def test_a_centred_mean_moves_no_sum_of_a_units_weights():
    _, step = lost.Centred(0.8).step({}, vector(0))
    _, plain = lost.LookAhead(0.8).step({}, vector(0))
    for start, rows, columns in lost.layers():
        end = start + rows * columns
        assert abs(step[start:end].reshape(rows, columns).mean(1)).max() < 1e-5
        np.testing.assert_array_equal(step[end : end + rows], plain[end : end + rows])  # biases


class Point(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = nn.Parameter(torch.tensor([3.0]))

    def forward(self, x):
        return self.y


def learnt(solver, shared, where=None):
    """What a client sends after two steps at a rate of 0.1 down y²/2 from y = 3; `where` gets each y."""
    model, nothing = FlatModel(Point()), torch.zeros(1)

    def loss(y, _):
        if where is not None:
            where.append(y.item())
        return (y * y / 2).sum()

    solver.run(model, Job(loss, lambda: (nothing, nothing), [0.1], 2, shared=shared))
    return float(model.vector) - 3


def test_the_look_ahead_is_taken_in_small_parts_and_only_the_own_part_is_sent():
    solver, places = lost.Gradual(steps=2, momentum=0.0, clip=0.0, ahead=0.5), []
    plain = SGD(steps=2, momentum=0.0, clip=0.0)
    assert learnt(solver, {}) == learnt(plain, {})  # nobody has sent anything yet
    momentum = {"momentum": np.array([2.0], np.float32)}
    sent = learnt(solver, momentum, places)
    # z = 3, so w = 2; half of λM = 1 comes after each step: 2, then 2 − 0.2 + 0.5
    assert places == pytest.approx([2.0, 2.3])
    assert sent == pytest.approx(-0.2 - 0.23)
    assert learnt(replace(solver, ahead=0.0), momentum) == learnt(plain, {})


def test_its_momentum_is_that_of_the_server():
    mine, theirs, turn = {}, {}, ServerContext(0.2, 23, 10, 100)
    for seed in range(3):
        mine, more = lost.Gradual().follow(mine, vector(seed), turn)
        theirs, _ = lost.LookAhead(0.8).step(theirs, vector(seed))
        assert more is None
        np.testing.assert_array_equal(lost.Gradual().shared(mine)["momentum"], theirs["momentum"])
    assert lost.Gradual().update_state({}, mine, None, None) == {}
