"""Each client's share θ_k of the budget (eq. 8): in proportion, under a ceiling, and water-filled."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.core.conditions import position_bits
from heteroselect.core.moment import Moment
from heteroselect.core.part import check, declared
from heteroselect.parts.allocate import ScoreShare, UniformShare, Waterfill, waterfill
from heteroselect.parts.allocate.density import proportional
from parts.allocate.situations import allocate, capped, context, links

RANDOM = settings(max_examples=50, deadline=None, derandomize=True)
WARMUP, SECOND, LAST = Moment(1, 100), Moment(2, 100), Moment(100, 100)
POSITIVE = st.one_of(st.just(0.0), st.floats(1e-6, 1))
SHARES = [UniformShare, ScoreShare, Waterfill]


@st.composite
def fillings(draw: st.DrawFn) -> tuple[np.ndarray, float, np.ndarray, float]:
    clients = draw(st.integers(1, 8))
    each = {"min_size": clients, "max_size": clients}
    scores = np.array(draw(st.lists(POSITIVE, **each)))
    caps = np.array(draw(st.lists(st.floats(0, 1.5), **each)))
    return scores, draw(st.floats(0, clients)), caps, draw(st.sampled_from([0.0, 0.005, 0.1]))


def test_the_settings_of_a_share_are_declared_once():
    names = list(declared(ScoreShare))
    assert names == list(declared(UniformShare)) == list(declared(Waterfill)) == list(ScoreShare.traits.carries)
    assert declared(UniformShare)["floor"].bounds == declared(ScoreShare)["floor"].bounds
    assert {name for name in names if declared(UniformShare)[name].default != declared(ScoreShare)[name].default} == {
        "amplitude",
        "floor",
        "warmup_rounds",
        "ceiling",
    }
    with pytest.raises(ValueError, match="floor: allowed is a number > 0 and ≤ 1"):
        check(UniformShare(floor=0.0))


def test_eq_8_by_hand():
    # S̄ = 0.5 and θ_t = 0.2: wishes 0.08, 0.16 and 0.36, of which the last meets its ceiling of 0.25
    densities = ScoreShare().densities(0.2, np.array([0.2, 0.4, 0.9]), np.array([0.25, 0.5, 0.25]))
    assert_allclose(densities, [0.08, 0.16, 0.25])


def test_nobody_sends_less_than_the_minimum_or_more_than_everything():
    # S̄ = 0.5: wishes 0, 1 and 2 times 0.9; the ceiling of client 1 lies under the minimum
    densities = ScoreShare().densities(0.9, np.array([0.0, 0.5, 1.0]), np.array([5.0, 0.001, 5.0]))
    assert_allclose(densities, [0.005, 0.005, 1.0])


def test_the_ceiling_of_an_average_link_by_hand():
    # 3 Mb/s for 16 s are 48 Mb, an update of 10⁷ values is 320 Mb
    link = links([3e6], 15.0, budget=16.0, size=10**7)
    assert_allclose(ScoreShare().caps(0.2, link), [48 / 320])
    flat = {"amplitude": 0.0, "warmup_rounds": 0}
    assert allocate(ScoreShare(**flat), [1], context(link)).densities == pytest.approx([48 / 320])
    assert allocate(ScoreShare(**flat, ceiling="none"), [1], context(link)).densities == pytest.approx([0.2])


def test_the_strict_ceiling_leaves_time_to_compute_and_room_for_positions():
    # of 16 s, 50 steps of 0.1 s leave 11 s; at θ = ½ a position costs h(½)/½ = 2 bits, so 34 a coordinate
    both = links([3e6, 3e6], [0.1, 0.4], passes=50.0, budget=16.0, size=10**7)
    caps = ScoreShare(ceiling="strict").caps(0.5, both)
    assert_allclose(caps, [3e6 * 11 / 34e7, 0])  # 50 steps of 0.4 s leave nothing at all
    assert_allclose(ScoreShare(ceiling="strict").densities(0.5, np.ones(2), caps), [3e6 * 11 / 34e7, 0.005])


def test_the_ceiling_counts_real_bits_where_the_clock_does():
    # 1 Mb/s for 1.6 s are 1.6 Mb: half of 100,000 values of 32 bits, and as many more as 4 bits and a position allow
    link = links([1e6], 1.0, budget=1.6, size=100_000)
    assert_allclose(ScoreShare().caps(0.2, link), [0.5])
    real = dataclasses.replace(link, real_bits=4)
    assert_allclose(ScoreShare().caps(0.2, real), [1.6e6 / ((4 + position_bits(0.2)) * 100_000)])
    # strict leaves 1.6 − 10·0.1 s and always counts positions
    assert_allclose(ScoreShare(ceiling="strict").caps(0.2, link), [0.6e6 / ((32 + position_bits(0.2)) * 100_000)])
    assert_allclose(ScoreShare(ceiling="strict").caps(0.2, real), [0.6e6 / ((4 + position_bits(0.2)) * 100_000)])


@pytest.mark.parametrize(
    ("density", "bits"),
    # h(θ)/θ; at ¼: (¼·2 + ¾·log₂ 4/3)/¼
    [(0.5, 2), (0.25, 2 + 3 * math.log2(4 / 3)), (0.2, 3.6096), (0.12, 4.4113), (0, 0), (1, 0)],
)
def test_position_bits(density, bits):
    assert position_bits(density) == pytest.approx(bits, rel=1e-4)


@pytest.mark.parametrize("kind", SHARES)
@pytest.mark.parametrize("score", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("clients", [1, 3])
def test_equal_scores_share_equally_up_to_the_ceiling(kind, score, clients):
    scores = np.full(clients, score)
    assert_allclose(kind().densities(0.2, scores, np.full(clients, 0.5)), 0.2)
    assert_allclose(kind().densities(0.2, scores, np.full(clients, 0.1)), 0.1)


@given(st.lists(POSITIVE, min_size=1, max_size=8).map(np.array), st.floats(0.01, 1))
@RANDOM
def test_proportional_shares_add_up_in_proportion(scores, theta):
    shares = proportional(scores, theta)
    assert shares.sum() == pytest.approx(len(scores) * theta)
    if scores.any():
        assert_allclose(shares * scores.sum(), scores * shares.sum(), atol=1e-12)


def test_waterfill_takes_what_the_minimum_costs_from_the_others():
    # 0.6 − 0.005 = 0.595 in thirds: 0.1983 and 0.3967
    filled = waterfill(np.array([0.0, 1.0, 2.0]), 0.6, np.ones(3), 0.005)
    assert_allclose(filled, [0.005, 0.595 / 3, 2 * 0.595 / 3])


@given(fillings())
@RANDOM
def test_waterfill_spends_exactly_the_total_where_the_bounds_allow(filling):
    scores, total, caps, minimum = filling
    filled = waterfill(scores, total, caps, minimum)
    least = minimum * len(scores)
    most = np.clip(caps, minimum, 1).sum()
    assert filled.sum() == pytest.approx(min(max(total, least), most), abs=1e-9)


@given(fillings())
@RANDOM
def test_waterfill_has_one_level(filling):
    scores, total, caps, minimum = filling
    filled = waterfill(scores, total, caps, minimum)
    free = (scores > 0) & (filled > minimum) & (filled < np.clip(caps, minimum, 1))
    if scores.any() and free.any():
        assert_allclose(filled[free] / scores[free], (filled[free] / scores[free])[0], rtol=1e-9)


@given(fillings(), st.floats(1e-6, 1))
@RANDOM
def test_waterfill_never_punishes_a_higher_score(filling, more):
    scores, total, caps, minimum = filling
    if not scores.any():
        scores[-1] = 0.5
    raised = scores.copy()
    raised[0] += more
    assert waterfill(raised, total, caps, minimum)[0] >= waterfill(scores, total, caps, minimum)[0] - 1e-9


def test_waterfill_below_all_minima_or_above_all_ceilings_is_at_these_bounds():
    scores, caps = np.array([0.2, 1.0]), np.array([0.3, 0.4])
    assert waterfill(scores, 0.001, caps, 0.005).tolist() == [0.005, 0.005]
    assert waterfill(scores, 1.5, caps, 0.005).tolist() == [0.3, 0.4]


def test_waterfill_gives_the_unscored_what_the_others_cannot_take():
    assert_allclose(waterfill(np.array([0.0, 1.0]), 1.2, np.ones(2), 0.005), [0.2, 1.0])
    assert_allclose(waterfill(np.zeros(3), 0.6, np.array([1, 1, 0.1]), 0.005), [0.25, 0.25, 0.1])


def test_waterfill_with_scores_of_very_different_size():
    assert_allclose(waterfill(np.array([1e-100, 1.0]), 0.4, np.ones(2), 0.005), [0.005, 0.395])
    assert_allclose(waterfill(np.array([1e-313, 2e-313]), 0.3, np.ones(2), 0.005), [0.1, 0.2])


@pytest.mark.parametrize(
    ("part", "scores", "theta", "densities"),
    [
        (ScoreShare(), [0.0, 0.5, 1.0], 1, [1, 1, 1]),
        # S̄ = 0.5: wishes 0, 1 and 2, held by the minimum, the ceiling and by everything
        (ScoreShare(warmup="allocated"), [0.0, 0.5, 1.0], 1, [0.005, 0.6, 1]),
        # θ_1 = 0.25^{1/2}: wishes 0.25, 0.5 and 0.75
        (ScoreShare(0.25, warmup="ramp"), [0.25, 0.5, 0.75], 0.5, [0.25, 0.5, 0.75]),
    ],
    ids=["full", "allocated", "ramp"],
)
def test_the_warmup_sends_everything_or_goes_through_share_and_ceiling(part, scores, theta, densities):
    allocation = allocate(part, scores, context(capped(1, 0.6, 3), WARMUP))
    assert_allclose(allocation.densities, densities)
    assert (allocation.theta, allocation.warmup) == (theta, True)


@pytest.mark.parametrize("warmup", ["full", "allocated", "ramp"])
def test_after_the_warmup_its_rule_is_forgotten(warmup):
    allocation = allocate(ScoreShare(warmup=warmup), [0.25, 0.5, 0.75], context(capped(1, 1, 0.3), SECOND))
    assert_allclose(allocation.densities, [0.14, 0.28, 0.3])
    assert (allocation.theta, allocation.warmup) == (pytest.approx(0.28), False)
