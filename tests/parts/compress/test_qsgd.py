"""QSGD: chances and variance by hand, right on average, and zeros are not sent."""

import numpy as np
import pytest

from compressing import array, compress_context, draws, normal, variance
from heteroselect.parts.compress.qsgd import QSGD


def test_three_and_four_by_hand() -> None:
    """v = (3, 4), s = 1: kept with 0.6 and 0.8 as ±5; variance 3·2 + 4·1 = 10."""
    part = QSGD(1, bucket=2)
    sent = draws(part, array(3, 4), 0.1, 4000)
    assert set(np.unique(sent)) == {0.0, 5.0}
    assert (sent != 0).mean(axis=0) == pytest.approx([0.6, 0.8], abs=4 * np.sqrt(0.24 / 4000))
    assert variance(part, array(3, 4), 0.1, 4000) == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize(("levels", "bound", "known"), [(1, 8, 5.45), (4, 2, 0.656), (16, 0.25, 0.0416)])
def test_variance_is_below_the_papers_bound(levels: int, bound: float, known: float) -> None:
    """min(N/s², √N/s) at N = 64; and near what a normal vector is known to have."""
    v = normal(64)
    square = float(v @ v)
    level = np.abs(v) / np.sqrt(square) * levels
    exact = float(np.sum((level % 1) * (1 - level % 1))) / levels**2
    found = variance(QSGD(levels, bucket=64), v, 1.0, 1000) / square
    assert found == pytest.approx(exact, rel=0.05)
    assert found < bound
    assert exact == pytest.approx(known, rel=0.1)


def test_no_more_are_sent_than_the_paper_expects() -> None:
    """E nnz ≤ s(s + √N) in a bucket."""
    v, one = normal(512), compress_context(512)
    for levels in (1, 4):
        sent = [QSGD(levels).compress(v, 1.0, one)[0].positions.size for _ in range(50)]
        assert np.mean(sent) < levels * (levels + np.sqrt(512))


def test_buckets_have_their_own_norms() -> None:
    v = np.concatenate([normal(512), np.zeros(512, np.float32), 1e-6 * normal(512, 1), array(7)])
    sent = QSGD(1).compress(v, 1.0, compress_context(v.size))[0]
    assert sent.coded is not None
    assert sent.coded.scales.tolist() == pytest.approx(
        [np.linalg.norm(v[:512]), np.linalg.norm(v[1024:1536]), 7], rel=1e-6
    )
    assert sent.coded.ends[-1] == sent.positions.size < 200
    assert not ((sent.positions >= 512) & (sent.positions < 1024)).any()
    assert sent.dense()[-1] == 7
    assert (sent.values != 0).all()


def test_a_norm_beyond_the_largest_float() -> None:
    v = np.full(512, 3e38, np.float32)
    sent = QSGD(1).compress(v, 1.0, compress_context(512))[0]
    assert np.isfinite(sent.values).all()
    assert sent.values.max() == np.finfo(np.float32).max


def test_many_levels_are_sent_dense_and_few_sparse() -> None:
    v = normal(512)
    assert QSGD(127, bucket=4).compress(v, 0.1, compress_context(512))[0].is_dense
    assert not QSGD(1).compress(v, 0.1, compress_context(512))[0].is_dense


@pytest.mark.parametrize(("levels", "bucket"), [(0, 512), (128, 512), (4, 0)])
def test_what_the_wire_cannot_carry_is_refused(levels: int, bucket: int) -> None:
    with pytest.raises(ValueError, match="allowed"):
        QSGD(levels, bucket)
