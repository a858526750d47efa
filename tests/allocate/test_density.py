"""Each client's share θ_k of the budget (eq. 8): in proportion, under a ceiling, and water-filled."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from heteroselect.allocate import Allocator, Budget, Means, waterfill
from heteroselect.allocate.density import position_bits, proportional
from heteroselect.moment import Moment

RANDOM = settings(max_examples=50, deadline=None, derandomize=True)
WARMUP, SECOND, LAST = Moment(1, 100), Moment(2, 100), Moment(100, 100)
NOBODY_CAPPED = Means(np.full(3, 1e12), np.full(3, 0.3), 50, 20.0, 1000)
POSITIVE = st.one_of(st.just(0.0), st.floats(1e-6, 1))
RULES = ["adaptive", "uniform", "waterfill"]


def capped(*caps: float) -> Means:
    """Links for which B·T/(32N) is just the given ceilings: N = 10⁶ and T = 32 s leave B/10⁶."""
    return Means(np.array(caps) * 1e6, np.full(len(caps), 0.3), 50, 32.0, 10**6)


@st.composite
def fillings(draw: st.DrawFn) -> tuple[np.ndarray, float, np.ndarray, float]:
    clients = draw(st.integers(1, 8))
    each = {"min_size": clients, "max_size": clients}
    scores = np.array(draw(st.lists(POSITIVE, **each)))
    caps = np.array(draw(st.lists(st.floats(0, 1.5), **each)))
    return scores, draw(st.floats(0, clients)), caps, draw(st.sampled_from([0.0, 0.005, 0.1]))


def test_eq_8_by_hand():
    # S̄ = 0.5 and θ_t = 0.2: wishes 0.08, 0.16 and 0.36, of which the last meets its ceiling of 0.25
    densities = Allocator().densities(0.2, np.array([0.2, 0.4, 0.9]), capped(0.25, 0.5, 0.25))
    assert_allclose(densities, [0.08, 0.16, 0.25])


def test_nobody_sends_less_than_the_minimum_or_more_than_everything():
    # S̄ = 0.5: wishes 0, 1 and 2 times 0.9; the ceiling of client 1 lies under the minimum
    densities = Allocator().densities(0.9, np.array([0.0, 0.5, 1.0]), capped(5.0, 0.001, 5.0))
    assert_allclose(densities, [0.005, 0.005, 1.0])


def test_the_ceiling_of_an_average_link_by_hand():
    # 3 Mb/s for 16 s are 48 Mb, an update of 10⁷ values is 320 Mb
    means = Means(np.array([3e6]), np.array([0.3]), 50, 16.0, 10**7)
    assert_allclose(Allocator().caps(0.2, means), [48 / 320])
    assert Allocator(ceiling="none").caps(0.2, means).tolist() == [1]


def test_the_strict_ceiling_leaves_time_to_compute_and_room_for_positions():
    # of 16 s, 50 steps of 0.1 s leave 11 s; at θ = ½ a position costs h(½)/½ = 2 bits, so 34 a coordinate
    means = Means(np.full(2, 3e6), np.array([0.1, 0.4]), 50, 16.0, 10**7)
    caps = Allocator(ceiling="strict").caps(0.5, means)
    assert_allclose(caps, [3e6 * 11 / 34e7, 0])  # 50 steps of 0.4 s leave nothing at all
    densities = Allocator(ceiling="strict").densities(0.5, np.ones(2), means)
    assert_allclose(densities, [3e6 * 11 / 34e7, 0.005])


def test_an_average_client_keeps_its_strict_ceiling_just_short_of_the_average():
    # T_budget = 0.2·32N/B̄ + H·c̄ leaves 0.2·32N/B̄ for an upload that now also carries 3.61 bits of position
    size = 2_781_514
    means = Means(np.array([3e6]), np.array([0.3]), 50, 0.2 * 32 * size / 3e6 + 15, size)
    assert_allclose(Allocator(ceiling="strict").caps(0.2, means), [0.2 * 32 / (32 + 3.6096)], rtol=1e-5)
    # with everything sent there is no position to tell
    assert_allclose(Allocator(ceiling="strict").caps(1.0, means), [0.2])


def test_the_means_of_some_clients_keep_what_is_known_of_rounds():
    means = Means(
        np.array([1e6, 2e6, 4e6]), np.array([0.1, 0.2, 0.3]), 10, 5.0, 10**6,
        data=np.array([0.2, 0.3, 0.5]), norms=np.array([1.0, 2.0, 3.0]), share=np.array([0.1, 0.4, 0.5]),
        past_norms=np.array([7.0, 6.0]), past_thetas=np.array([1.0, 0.2]),
    )  # fmt: skip
    some = means.only(np.array([2, 0]))
    assert_allclose(some.computing, [3, 1])
    assert_allclose(some.sending, [8, 32])  # 32 Mb
    found = {name: getattr(some, name).tolist() for name in ("data", "norms", "share", "past_norms", "past_thetas")}
    assert found == {
        "data": [0.5, 0.2],
        "norms": [3, 1],
        "share": [0.5, 0.1],
        "past_norms": [7, 6],
        "past_thetas": [1, 0.2],
    }
    assert capped(1.0, 0.5).only(np.array([1])).share is None


def test_real_bits_lengthen_what_is_sent():
    means = dataclasses.replace(capped(1.0), real_bits=16)
    assert_allclose(means.sending, capped(1.0).sending / 2)  # everything is sent, so positions cost nothing


@pytest.mark.parametrize(
    ("density", "bits"),
    # h(θ)/θ; at ¼: (¼·2 + ¾·log₂ 4/3)/¼
    [(0.5, 2), (0.25, 2 + 3 * math.log2(4 / 3)), (0.2, 3.6096), (0.12, 4.4113), (0, 0), (1, 0)],
)
def test_position_bits(density, bits):
    assert position_bits(density) == pytest.approx(bits, rel=1e-4)


def test_the_uniform_rule_honours_the_ceiling():
    assert_allclose(Allocator(rule="uniform").densities(0.2, np.array([0, 0.5, 1]), capped(1, 0.1, 1)), [0.2, 0.1, 0.2])


def test_the_authors_uniform_ablation_has_no_ceiling():
    free = Allocator(rule="uniform", ceiling="none")
    assert_allclose(free.densities(0.2, np.array([0, 0.5, 1]), capped(1, 0.1, 1)), [0.2, 0.2, 0.2])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("score", [0.0, 0.4, 1.0])
def test_equal_scores_share_equally(rule, score):
    assert_allclose(Allocator(rule=rule).densities(0.2, np.full(3, score), NOBODY_CAPPED), 0.2)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("score", [0.0, 0.3])
def test_a_cohort_of_one_gets_the_whole_budget(rule, score):
    assert_allclose(Allocator(rule=rule).densities(0.2, np.array([score]), capped(0.5)), [0.2])
    assert_allclose(Allocator(rule=rule).densities(0.2, np.array([score]), capped(0.1)), [0.1])


@given(st.lists(POSITIVE, min_size=1, max_size=8).map(np.array), st.floats(0.01, 1))
@RANDOM
def test_proportional_shares_add_up_in_proportion(scores, theta):
    shares = proportional(scores, theta)
    assert shares.sum() == pytest.approx(len(scores) * theta)
    if scores.any():
        assert_allclose(shares * scores.sum(), scores * shares.sum(), atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
@given(filling=fillings(), theta=st.floats(0.01, 1), random=st.randoms(use_true_random=False))
@RANDOM
def test_every_rule_stays_in_its_box_and_follows_a_relabelling(rule, filling, theta, random):
    scores, _, caps, minimum = filling
    allocator = Allocator(rule=rule, minimum=minimum)
    densities = allocator.densities(theta, scores, capped(*caps))
    ceiling = np.clip(caps, minimum, 1)
    assert (densities >= minimum).all()
    assert (densities <= ceiling * (1 + 1e-12)).all()
    order = random.sample(range(len(scores)), len(scores))
    assert_allclose(allocator.densities(theta, scores[order], capped(*caps[order])), densities[order], atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
@given(filling=fillings(), theta=st.floats(0.01, 1))
@RANDOM
def test_under_one_ceiling_a_higher_score_never_gets_less(rule, filling, theta):
    scores, _, caps, minimum = filling
    one = capped(*np.full(len(scores), caps[0]))
    densities = Allocator(rule=rule, minimum=minimum).densities(theta, np.sort(scores), one)
    assert (np.diff(densities) >= 0).all()


def test_the_ceiling_counts_real_bits_where_the_clock_does():
    # 1 Mb/s for 1.6 s are 1.6 Mb: half of 100,000 values of 32 bits, and as many more as 4 bits and a position allow
    means = Means(np.array([1e6]), np.array([0.1]), 10, 1.6, 100_000)
    assert_allclose(Allocator().caps(0.2, means), [0.5])
    real = dataclasses.replace(means, real_bits=4)
    assert_allclose(Allocator().caps(0.2, real), [1.6e6 / ((4 + position_bits(0.2)) * 100_000)])
    # strict leaves 1.6 − 10·0.1 s and always counts positions
    assert_allclose(Allocator(ceiling="strict").caps(0.2, means), [0.6e6 / ((32 + position_bits(0.2)) * 100_000)])
    assert_allclose(Allocator(ceiling="strict").caps(0.2, real), [0.6e6 / ((4 + position_bits(0.2)) * 100_000)])


def test_waterfill_gives_what_a_capped_client_cannot_use_to_the_others():
    # λ·(1, 1, 2) with the last at 0.25: the others share 0.6 − 0.25
    filled = waterfill(np.array([1.0, 1.0, 2.0]), 0.6, np.array([1.0, 1.0, 0.25]), 0.005)
    assert_allclose(filled, [0.175, 0.175, 0.25])


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


def test_waterfill_as_a_rule_spends_the_rounds_budget():
    allocator = Allocator(rule="waterfill")
    allocation = allocator.allocate(np.array([0.0, 0.5, 1.0]), capped(1, 1, 0.3), LAST)
    assert allocation.theta == pytest.approx(0.12)
    assert allocation.densities.sum() == pytest.approx(3 * 0.12)


def test_the_warmup_sends_everything_whatever_the_score_and_the_ceiling():
    allocation = Allocator().allocate(np.array([0.0, 0.5, 1.0]), capped(0.1, 0.1, 0.1), WARMUP)
    assert allocation.densities.tolist() == [1, 1, 1]
    assert (allocation.theta, allocation.warmup) == (1, True)


def test_an_allocated_warmup_goes_through_rule_and_ceiling():
    # S̄ = 0.5: wishes 0, 1 and 2, held by the minimum, the ceiling and by everything
    allocation = Allocator(warmup="allocated").allocate(np.array([0.0, 0.5, 1.0]), capped(1, 0.6, 3), WARMUP)
    assert_allclose(allocation.densities, [0.005, 0.6, 1])
    assert (allocation.theta, allocation.warmup) == (1, True)


@pytest.mark.parametrize("warmup", ["full", "allocated"])
def test_after_the_warmup_its_rule_is_forgotten(warmup):
    allocation = Allocator(warmup=warmup).allocate(np.array([0.25, 0.5, 0.75]), capped(1, 1, 0.3), SECOND)
    assert_allclose(allocation.densities, [0.14, 0.28, 0.3])
    assert (allocation.theta, allocation.warmup) == (pytest.approx(0.28), False)


def test_without_a_warmup_the_first_round_is_like_any_other():
    allocation = Allocator(Budget(warmup_rounds=0)).allocate(np.array([0.25, 0.5, 0.75]), NOBODY_CAPPED, WARMUP)
    assert_allclose(allocation.densities, [0.14, 0.28, 0.42])
    assert not allocation.warmup


def test_scores_are_left_as_they_were():
    scores, means = np.array([0.0, 0.5, 1.0]), capped(0.1, 0.5, 0.2)
    for rule in RULES:
        Allocator(rule=rule).allocate(scores, means, SECOND)
    assert_array_equal(scores, [0, 0.5, 1])
