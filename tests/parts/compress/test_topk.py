"""κ is exact, and the largest win; among equals the lower index does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heteroselect.parts.compress.topk import Rounding, kept_count, top_positions


def slow_top(scores: list[float], kept: int) -> list[int]:
    """A stable sort: largest first, and what stood first stays first."""
    return sorted(sorted(range(len(scores)), key=lambda i: -scores[i])[:kept])


@pytest.mark.parametrize(
    ("density", "size", "ceil", "floor"),
    [
        (0.28, 7850, 2198, 2198),
        (0.2 * (1 + 0.4), 7850, 2198, 2198),  # the schedule's first value: 0.27999999999999997
        (0.07, 100, 7, 7),  # 7.000000000000001 in doubles
        (0.29, 100, 29, 29),  # 28.999999999999996 in doubles
        (0.2801, 7850, 2199, 2198),
        (0.005, 2_781_514, 13_908, 13_907),
        (0.25, 10, 3, 2),
        (2 / 3, 10, 7, 6),
        (1e-12, 10, 1, 1),
        (0.0, 10, 1, 1),
        (0.5, 1, 1, 1),
        (1.0, 7850, 7850, 7850),
        (1.7, 10, 10, 10),
    ],
)
def test_kept_count_by_hand(density: float, size: int, ceil: int, floor: int) -> None:
    assert kept_count(density, size) == ceil
    assert kept_count(density, size, "ceil") == ceil
    assert kept_count(density, size, "floor") == floor


@given(st.integers(1, 12_000_000), st.data(), st.sampled_from(["ceil", "floor"]))
@settings(deadline=None, max_examples=50)
def test_a_density_that_means_a_whole_number_gives_that_number(size: int, data: st.DataObject, way: Rounding) -> None:
    kept = data.draw(st.integers(1, size))
    assert kept_count(kept / size, size, way) == kept


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, -1.0]), min_size=1, max_size=40)
    | st.lists(st.floats(0, 2.0**100, width=32), min_size=1, max_size=60),
    st.data(),
)
@settings(deadline=None, max_examples=100)
def test_the_largest_are_kept_and_ties_go_to_the_lower_index(scores: list[float], data: st.DataObject) -> None:
    kept = data.draw(st.integers(1, len(scores)))
    assert top_positions(np.array(scores, np.float32), kept).tolist() == slow_top(scores, kept)


@pytest.mark.parametrize("kept", [3, 4])
def test_all_are_kept_where_there_are_no_more(kept: int) -> None:
    found = top_positions(np.array([1, 9, 4], np.float32), kept)
    assert found.tolist() == [0, 1, 2]
    assert found.dtype == np.int64


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kept", [1, 2])
def test_a_score_that_is_not_finite_is_refused(bad: float, kept: int) -> None:
    with pytest.raises(ValueError, match="not finite"):
        top_positions(np.array([1, bad], np.float32), kept)


def test_magnitude_keeps_its_promise_of_contraction() -> None:
    """‖v − top(v)‖² ≤ (1 − κ/N)‖v‖²; a normal vector stays far below (Stich et al. 2018)."""
    v = np.random.default_rng(5).standard_normal(1000).astype(np.float32)
    left = np.delete(v, top_positions(np.abs(v), 100))
    share = float((left**2).sum() / (v**2).sum())
    assert share < 0.9
    assert share == pytest.approx(0.565, abs=0.03)
