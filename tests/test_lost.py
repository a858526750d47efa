"""Ideas that lost: what is kept of them does what it says."""

import numpy as np
import pytest
from numpy.random import default_rng

from heteroselect.models import build
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
