"""The uplinks: their range, and the two ways of coupling them to the losses."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal

from heteroselect.world import Links, MeasuredLinks

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
LOSSES = st.lists(st.floats(0, 10), min_size=1, max_size=20).map(np.array)


def test_bandwidths_fill_their_range_in_bits_a_second():
    drawn = Links().draw(np.zeros(2000), default_rng(0))
    assert 1e6 <= drawn.min() < 1.02e6
    assert 4.98e6 < drawn.max() <= 5e6
    # 2,000 draws of a standard deviation of 4/√12 Mb/s
    assert abs(drawn.mean() - Links().mean) < 4 * 4e6 / np.sqrt(12 * 2000)


def test_the_inverse_stress_by_hand():
    # 1 + 4·(1 − L/4) Mb/s: against the largest loss, not stretched between the smallest and the largest
    drawn = Links(stress="inverse").draw(np.array([0.0, 1, 2, 4]), default_rng(0))
    assert_allclose(drawn, [5e6, 4e6, 3e6, 1e6])


def test_under_the_inverse_stress_equal_losses_are_all_slow():
    assert_allclose(Links(stress="inverse").draw(np.full(3, 2.3), default_rng(0)), 1e6)
    assert_allclose(Links(stress="inverse").draw(np.zeros(3), default_rng(0)), 1e6)


@given(LOSSES, st.sampled_from(["none", "inverse", "permuted"]))
@RANDOM
def test_bandwidths_stay_in_their_range(losses, stress):
    drawn = Links(2, 7, stress).draw(losses, default_rng(5))
    assert drawn.shape == losses.shape
    assert ((drawn >= 2e6 * (1 - 1e-12)) & (drawn <= 7e6 * (1 + 1e-12))).all()


@given(LOSSES)
@RANDOM
def test_the_permuted_stress_hands_out_the_same_values_against_the_losses(losses):
    permuted = Links(stress="permuted").draw(losses, default_rng(5))
    assert_array_equal(np.sort(permuted), np.sort(Links().draw(losses, default_rng(5))))
    higher_loss = losses[:, None] > losses[None, :]
    assert (permuted[:, None] < permuted[None, :])[higher_loss].all()


def test_measured_links_are_smoothed_and_the_unknown_are_as_the_median_of_the_known():
    links, rng = MeasuredLinks(1.0, 5.0, keep=0.5), np.random.default_rng(0)
    np.testing.assert_array_equal(links.draw(np.zeros(3), rng), [3e6] * 3)
    links.measured(1, 4e6)
    links.measured(1, 2e6)
    assert links.estimates == {1: 3e6}
    links.measured(2, 1e6)
    np.testing.assert_array_equal(links.draw(np.zeros(4), rng), [2e6, 3e6, 1e6, 2e6])
