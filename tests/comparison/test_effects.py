"""Effects and interactions of two crossed axes, against numbers reckoned by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heteroselect.comparison.effects import decompose


def values(found) -> list[float]:
    return [one.value for one in found]


def test_a_table_of_two_by_two_by_hand() -> None:
    """Means 1, 2 / 3, 8: grand mean 3.5, rows 1.5 and 5.5, columns 2 and 5; 1 - (3.5 - 2 - 1.5) = 1 is left."""
    noise = np.array([-0.5, 0.0, 0.5])  # the same for all pairs of a seed
    found = decompose(np.array([[1.0, 2.0], [3.0, 8.0]])[:, :, None] + noise)
    assert found.grand.value == pytest.approx(3.5)
    assert values(found.rows) == pytest.approx([-2, 2])
    assert values(found.columns) == pytest.approx([-1.5, 1.5])
    np.testing.assert_allclose(found.residuals, [[1, -1], [-1, 1]], atol=1e-12)
    for (a, b), expected in np.ndenumerate(found.residuals):
        one = found.pairs[a][b]
        assert [one.value, one.low, one.high] == pytest.approx([expected] * 3), "what the seeds share is not in it"
    assert found.interaction.value == pytest.approx(1)
    assert found.grand.low < 3.1, "what the seeds share is in the grand mean"
    assert found.rows[0].low == pytest.approx(found.rows[0].high), "and in no difference between pairs"


@given(
    st.lists(st.floats(-3, 3), min_size=2, max_size=4),
    st.lists(st.floats(-3, 3), min_size=2, max_size=4),
    st.floats(-9, 9),
)
@settings(max_examples=30, deadline=None, derandomize=True)
def test_an_additive_table_has_no_interaction(rows, columns, grand) -> None:
    table = grand + np.add.outer(rows, columns)
    found = decompose(np.repeat(table[:, :, None], 2, axis=2))
    assert found.interaction.value == pytest.approx(0, abs=1e-6)
    assert values(found.rows) == pytest.approx(np.subtract(rows, np.mean(rows)), abs=1e-6)
    assert values(found.columns) == pytest.approx(np.subtract(columns, np.mean(columns)), abs=1e-6)


def test_a_missing_pair_does_not_move_the_effects_of_an_additive_table() -> None:
    """The mean of the first row without its last pair would be 1 less; the fit is not taken in."""
    table = np.add.outer([0.0, 1.0, 5.0], [0.0, 0.0, 3.0])
    table[0, 2] = np.nan
    found = decompose(np.repeat(table[:, :, None], 2, axis=2))
    assert values(found.rows) == pytest.approx([-2, -1, 3])
    assert values(found.columns) == pytest.approx([-1, -1, 2])
    assert np.isnan(found.residuals[0, 2])
    assert found.pairs[0][2] is None
    assert [sum(one is not None for one in row) for row in found.pairs] == [2, 3, 3]
    assert np.nanmax(np.abs(found.residuals)) < 1e-9


def test_only_seeds_that_every_pair_has_are_used() -> None:
    table = np.add.outer([0.0, 1.0], [0.0, 2.0])[:, :, None] + np.array([0.0, 100.0])
    table[0, 0, 1] = np.nan
    found = decompose(table)
    assert (found.seeds, found.grand.value) == (1, pytest.approx(1.5))
    assert (found.grand.low, found.p) == (None, None)


def test_what_cannot_be_told_apart_is_not_told() -> None:
    assert decompose(np.array([[1.0, np.nan], [np.nan, 2.0]])[:, :, None]) is None
    assert decompose(np.full((2, 2, 3), np.nan)) is None
    assert decompose(np.array([[1.0, 2.0], [3.0, np.nan]])[:, :, None]).interaction is None


@pytest.mark.slow
def test_intervals_hold_about_as_often_as_they_say() -> None:
    """Five seeds, no effects: 95 % intervals have zero in them about 95 times in a hundred, and chance is called
    chance."""
    held, zero, small = 0, 0, 0
    for seed in range(60):
        found = decompose(np.random.default_rng(seed).normal(size=(3, 3, 5)))
        held += found.rows[0].low <= 0 <= found.rows[0].high
        zero += found.interaction.low == 0
        small += found.p is not None and found.p < 0.05
    assert held >= 53
    assert zero >= 50
    assert small <= 8


def test_an_interaction_is_found_where_there_is_one() -> None:
    true = 1.5 * np.outer([1, -1, 0], [1, 0, -1])
    found = decompose(true[:, :, None] + np.random.default_rng(0).normal(size=(3, 3, 5), scale=0.5))
    assert 0 < found.interaction.low < 1 < found.interaction.high  # 1.5 · √(4/9)
    assert found.p < 1e-4
