"""The four parts of the score (eqs 2 to 5) and the min-max they are stretched with."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.core.update import Update
from heteroselect.parts.score.parts import cosines, diversity, fairness, minmax, staleness

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12).map(np.array)
COUNTS = st.lists(st.integers(0, 1000), min_size=1, max_size=12).map(np.array)


@given(VALUES, st.floats(0, 1))
@RANDOM
def test_minmax_reaches_both_ends_in_the_same_order_or_is_constant(values, constant):
    stretched = minmax(values, constant)
    if np.ptp(values) < 1e-8:
        assert (stretched == constant).all()
    else:
        assert (stretched.min(), stretched.max()) == (0, 1)
        assert (np.diff(stretched[np.argsort(values)]) >= 0).all()


@pytest.mark.parametrize("constant", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("values", [[7.0], [7.0, 7.0, 7.0], [7.0, 7.0 + 5e-9]])
def test_minmax_without_spread_is_the_constant(values, constant):
    assert minmax(np.array(values), constant).tolist() == [constant] * len(values)


def test_minmax_stretches_any_spread_above_the_threshold():
    assert minmax(np.array([7.0, 7.0 + 2e-8])).tolist() == [0, 1]


def test_minmax_can_leave_values_without_spread_alone_but_never_shares_them():
    values = np.array([7.0, 7.0])
    left = minmax(values, None)
    assert left.tolist() == [7, 7]
    left[0] = 0
    assert values[0] == 7


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("others", [[], [1.0, 1.0], [1.0, 2.0]])
def test_minmax_rejects_what_is_not_finite(bad, others):
    with pytest.raises(ValueError, match="not finite"):
        minmax(np.array([*others, bad]))


def test_eq_2_loss_by_hand():
    # (0.5 − 0.5)/2, (2.5 − 0.5)/2, (1 − 0.5)/2
    assert minmax(np.array([0.5, 2.5, 1.0])).tolist() == [0, 1, 0.25]


def test_eq_3_diversity_by_hand():
    # 1 − 0.25; nothing to compare; 1 + 0.5 clipped to 1; 1 − 1
    assert diversity(4, {0: 0.25, 2: -0.5, 3: 1.0}).tolist() == [0.75, 0.5, 1, 0]


def test_diversity_of_a_cosine_that_rounding_carried_past_one_is_zero():
    assert diversity(1, {0: 1 + 1e-7}).tolist() == [0]


def vector(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def sparse(*values: float) -> Update:
    return Update.keep(vector(*values), np.flatnonzero(values))


def test_cosines_by_hand():
    # 4/(5·√2): a coordinate that was not sent counts as zero, in the product and in the length
    found = cosines({0: sparse(6, 8, 0), 2: sparse(0, 1, 1)}, vector(3, 4, 0))
    assert found == pytest.approx({0: 1, 2: 4 / (5 * math.sqrt(2))})


@pytest.mark.parametrize(("upload", "cosine"), [((-1, -1), -1), ((1, -1), 0), ((1e-15, 1e-15), 1), ((1e15, 1e15), 1)])
def test_cosines_do_not_depend_on_the_length(upload, cosine):
    assert cosines({0: sparse(*upload)}, vector(2, 2))[0] == pytest.approx(cosine, abs=1e-7)


def test_dense_and_sparse_uploads_have_the_same_cosine():
    dense, kept = Update.keep(vector(5, 0, 1), np.arange(3)), Update.keep(vector(5, 0, 1), np.array([0, 2]))
    found = cosines({0: dense, 1: kept}, vector(1, 2, 3))
    assert found[0] == pytest.approx(found[1])
    assert found[0] == pytest.approx(8 / math.sqrt(26 * 14))


def test_nothing_is_compared_without_a_consensus_or_a_direction():
    assert cosines({0: sparse(1, 2)}, None) == {}
    assert list(cosines({0: sparse(0, 0), 1: sparse(1, 0)}, vector(1, 1))) == [1]
    assert cosines({1: sparse(1, 0)}, vector(0, 0)) == {}


def test_eq_4_fairness_by_hand():
    # the mean count is 2: 1 − 0/2, 1 − 1/2, 1 − 2/2, 1 − 5/2 clipped to −1
    assert fairness(np.array([0, 1, 2, 5])).tolist() == [1, 0.5, 0, -1]


@pytest.mark.parametrize("start", [0.0, 1.0])
def test_fairness_before_anyone_was_selected(start):
    assert fairness(np.zeros(3, np.int64), start).tolist() == [start] * 3


@given(COUNTS)
@RANDOM
def test_fairness_is_bounded_falls_with_the_count_and_knows_only_shares(counts):
    values = fairness(counts)
    assert (np.abs(values) <= 1).all()
    assert (np.diff(values[np.argsort(counts)]) <= 0).all()
    assert_allclose(fairness(3 * counts), values, atol=1e-12)


def test_eq_5_staleness_by_hand():
    # round 4, last seen in rounds 0 (never), 1 and 3: ln 5, ln 4, ln 2, stretched
    expected = [1, (math.log(4) - math.log(2)) / (math.log(5) - math.log(2)), 0]
    assert_allclose(staleness(4, np.array([0, 1, 3])), expected, atol=1e-15)


def test_staleness_when_all_have_waited_alike():
    never = np.zeros(3, np.int64)
    assert staleness(1, never).tolist() == [0.5, 0.5, 0.5]
    # as logged by the authors: γ ln(1 + t − 0) = 0.5·ln 2, not stretched
    assert_allclose(staleness(1, never, 0.5, None), [0.5 * math.log(2)] * 3)


def test_staleness_is_stretched_even_where_a_constant_would_not_be():
    assert staleness(2, np.array([0, 1]), 0.5, None).tolist() == [1, 0]


@given(st.lists(st.integers(0, 99), min_size=2, max_size=12).map(np.array))
@RANDOM
def test_staleness_rises_with_the_wait_within_its_bounds(last_round):
    values = staleness(100, last_round)
    assert ((values >= 0) & (values <= 1)).all()
    by_wait = np.unique(-last_round, return_index=True)[1]
    assert (np.diff(values[by_wait]) > 0).all()
