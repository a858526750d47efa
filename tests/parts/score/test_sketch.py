"""The count-sketch: cosines of millions of coordinates in a few thousand cells."""

import numpy as np
import pytest

from heteroselect.core.streams import Streams
from heteroselect.core.update import Update, Values, dot, norm
from heteroselect.parts.compress.topk import top_positions
from heteroselect.parts.score.sketch import sketch

STREAMS = Streams(7)


def cosine(a: Values, b: Values) -> float:
    return dot(a, b) / (norm(a) * norm(b))


@pytest.mark.parametrize("mix", [-0.5, 0.0, 0.8])
@pytest.mark.parametrize("density", [0.01, 0.2, 1.0])
def test_a_cosine_of_sketches_is_that_of_the_vectors(mix: float, density: float) -> None:
    """Of an upload and a consensus, as the score compares them: within 0.05."""
    rng = np.random.default_rng(int(100 * (mix + 2)))
    consensus = rng.standard_normal(100_000).astype(np.float32)
    other = (mix * consensus + (1 - abs(mix)) * rng.standard_normal(100_000)).astype(np.float32)
    upload = Update.keep(other, top_positions(np.abs(other), int(density * other.size)))
    exact = upload.dot(consensus) / (upload.norm() * norm(consensus))
    found = cosine(sketch(upload, 4096, STREAMS).values, sketch(Update.whole(consensus), 4096, STREAMS).values)
    assert found == pytest.approx(exact, abs=0.05)


def test_sketching_is_linear_and_sparse_or_dense_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 5000)).astype(np.float32)
    one, two = (sketch(Update.whole(v), 64, STREAMS).values for v in (a, b))
    both = sketch(Update.whole((a + b).astype(np.float32)), 64, STREAMS).values
    assert both == pytest.approx(one + two, abs=1e-3)
    a[::2] = 0
    sparse = Update.keep(a, np.flatnonzero(a))
    assert sketch(sparse, 64, STREAMS).values.tolist() == sketch(Update.whole(a), 64, STREAMS).values.tolist()


def test_the_seed_decides_the_cells() -> None:
    update = Update.whole(np.ones(1000, np.float32))
    first, again, other = (sketch(update, 64, Streams(seed)).values.tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_inner_products_are_unbiased() -> None:
    """Two vectors of a few coordinates, over many seeds: the mean of the sketches' product is theirs."""
    a, b = np.array([3, -1, 2], np.float32), np.array([1, 4, 0], np.float32)
    products = [
        dot(sketch(Update.whole(a), 2, Streams(seed)).values, sketch(Update.whole(b), 2, Streams(seed)).values)
        for seed in range(3000)
    ]
    error = np.std(products) / np.sqrt(len(products))
    assert np.mean(products) == pytest.approx(float(a @ b), abs=4 * error)
