"""TernGrad: chances and variance by hand, right on average, clipped layer by layer."""

import numpy as np
import pytest

from compressing import array, compress_context, draws, normal, variance
from heteroselect.parts.compress.terngrad import TernGrad, clipped


def test_one_and_minus_two_by_hand() -> None:
    """s = 2: sent with 0.5 and surely; variance 1·(2 − 1) = 1."""
    sent = draws(TernGrad(), array(1, -2), 0.1, 4000)
    assert set(np.unique(sent[:, 0])) == {0.0, 2.0}
    assert set(np.unique(sent[:, 1])) == {-2.0}
    assert (sent[:, 0] != 0).mean() == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / 4000))
    assert variance(TernGrad(), array(1, -2), 0.1, 100) == pytest.approx(1)


def test_its_variance() -> None:
    """Σ|v|(s − |v|)"""
    v = normal(20)
    magnitudes = np.abs(v).astype(np.float64)
    exact = float(np.sum(magnitudes * (magnitudes.max() - magnitudes)))
    assert variance(TernGrad(clip=0), v, 1.0) == pytest.approx(exact, rel=0.05)


def test_each_layer_has_a_scale_of_its_own() -> None:
    v = np.concatenate([normal(40), 100 * normal(30, 1), np.zeros(30, np.float32)])
    sent = TernGrad(clip=0).compress(v, 1.0, compress_context(40, 30, 30))[0]
    assert sent.coded is not None
    assert set(np.abs(sent.dense()[:40])) <= {0, np.abs(v[:40]).max()}
    assert set(np.abs(sent.dense()[40:70])) <= {0, np.abs(v[40:70]).max()}
    assert not sent.dense()[70:].any()


def test_clipping_by_hand() -> None:
    v = array(-1, 1, -1, 1, 0, 0, 0, 4)  # σ = 1, and √3 about a mean of 1
    assert clipped(v, np.array([4, 8]), 0.5).tolist() == pytest.approx([-0.5, 0.5, -0.5, 0.5, 0, 0, 0, 0.75**0.5])
    assert clipped(v, np.array([4, 8]), 2.5).tolist() == v.tolist()
    assert clipped(v, np.array([4, 8]), 0).tolist() == v.tolist()


def test_a_layer_of_equal_values_is_not_clipped_away() -> None:
    v = array(0.1, 0.1, 0.1, -3)
    assert clipped(v, np.array([3, 4]), 2.5).tolist() == v.tolist()
    assert TernGrad().compress(v, 1.0, compress_context(3, 1))[0].dense().tolist() == v.tolist()


def test_what_stands_out_is_clipped_to_the_scale() -> None:
    v = normal(2000)
    v[7] = 50
    sent = TernGrad().compress(v, 1.0, compress_context(2000))[0]
    assert sent.coded is not None
    assert sent.coded.scales.tolist() == pytest.approx([2.5 * float(v.std(dtype=np.float64))])
    assert sent.dense()[7] == sent.coded.scales[0]


def test_on_average_it_is_the_clipped_vector() -> None:
    v = normal(30)
    v[0] = 10
    expected = clipped(v, np.array([30]), 2.5)
    assert expected[0] < 10
    sent = draws(TernGrad(), v, 1.0, 3000)
    assert (np.abs(sent.mean(axis=0) - expected) <= 4 * sent.std(axis=0) / np.sqrt(3000) + 1e-6).all()
