"""How long an upload and a round take."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heteroselect.world.clock import round_seconds, time_budget, upload_seconds


def test_an_upload_by_hand():
    # half of 100,000 values of 32 bits are 1.6 Mb, a tenth is 0.32 Mb
    assert_allclose(upload_seconds(np.array([0.5, 0.1]), np.array([1e6, 2e6]), 100_000), [1.6, 0.16])


@pytest.mark.parametrize(
    ("step_seconds", "seconds"),
    [
        ([0.1, 0.2], 2.6),  # 1.6 + 10·0.1 against 0.16 + 10·0.2
        ([0.1, 0.3], 3.16),  # the slower device is last although its upload is short
    ],
)
def test_a_round_lasts_until_its_slowest_client(step_seconds, seconds):
    assert round_seconds(np.array([1.6, 0.16]), np.array(step_seconds), 10) == pytest.approx(seconds)


def test_a_round_without_computing_is_its_longest_upload():
    assert round_seconds(np.array([1.6, 0.16]), np.zeros(2), 10) == 1.6


def test_the_time_budget_is_the_round_of_an_average_client():
    # 0.2·32·7,850 bit at 3 Mb/s and 50 steps of 0.3 s
    budget = time_budget(0.2, 7850, 3e6, 50, 0.3)
    assert budget == pytest.approx(50_240 / 3e6 + 15)
    upload = upload_seconds(np.array([0.2]), np.array([3e6]), 7850)
    assert budget == pytest.approx(round_seconds(upload, np.array([0.3]), 50))
