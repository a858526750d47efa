"""How long a round takes, by what is charged."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heteroselect.world.clock import Clock, Speeds, time_budget, upload_seconds
from heteroselect.world.ledger import Calibrated, Messages

SPEEDS = Speeds(up=np.array([1e6, 2e6, 1e6]), down=np.array([10e6, 20e6, 5e6]), step_seconds=np.array([0.1, 0.2, 0.4]))


def sent(asked=(), calibrated=()):
    """Clients 1 and 0, half and a tenth of 100,000 values; payloads of 250 and 50 kB; a model of 400 kB."""
    return Messages(
        size=100_000,
        model=400_000,
        asked=np.array(asked, np.int64),
        selected=np.array([1, 0]),
        densities=np.array([0.5, 0.1]),
        payloads=[250_000, 50_000],
        calibrated=list(calibrated),
    )


def test_an_upload_by_hand():
    # half of 100,000 values of 32 bits are 1.6 Mb, a tenth is 0.32 Mb
    assert_allclose(upload_seconds(np.array([0.5, 0.1]), np.array([1e6, 2e6]), 100_000), [1.6, 0.16])


def test_the_papers_clock():
    # client 1: 1.6 Mb at 2 Mb/s and ten steps of 0.2 s; client 0: 0.32 Mb at 1 Mb/s and ten of 0.1 s
    assert Clock("paper").seconds(sent(), SPEEDS, 10, 8) == pytest.approx(max(0.8 + 2.0, 0.32 + 1.0))
    assert Clock("paper").seconds(sent(asked=range(3)), SPEEDS, 10, 8) == pytest.approx(2.8)


def test_the_clock_of_real_uploads():
    # 250 kB are 2 Mb: one second at 2 Mb/s
    assert Clock("uplink").seconds(sent(), SPEEDS, 10, 8) == pytest.approx(max(1.0 + 2.0, 0.4 + 1.0))


def test_a_round_without_computing_is_its_longest_upload():
    assert Clock("uplink").seconds(sent(), SPEEDS, 0, 8) == pytest.approx(1.0)


def test_the_clock_of_everything_without_scoring():
    # 400 kB are 3.2 Mb down: 0.16 s at 20 Mb/s, 0.32 s at 10 Mb/s
    assert Clock("everything").seconds(sent(), SPEEDS, 10, 8) == pytest.approx(max(0.16 + 3.0, 0.32 + 1.4))


def test_scoring_ends_with_the_slowest_asked_and_spares_the_second_download():
    # client 2: 3.2 Mb at 5 Mb/s, eight forward passes of 0.4/4 s, 32 bits at 1 Mb/s
    scoring = 0.64 + 8 * 0.1 + 32e-6
    clock = Clock("everything", forward_share=0.25)
    assert clock.seconds(sent(asked=range(3)), SPEEDS, 10, 8) == pytest.approx(scoring + 3.0)
    # asked only client 0: its download is spared, client 1 still needs its own
    only = 0.32 + 8 * 0.025 + 32e-6
    assert clock.seconds(sent(asked=[0]), SPEEDS, 10, 8) == pytest.approx(only + max(0.16 + 3.0, 1.4))


def test_calibration_goes_from_client_to_client():
    clock = Clock("everything", forward_share=0.5)
    calibrated = [Calibrated(1, 7, 1000), Calibrated(0, 6, 1000)]
    extra = (0.16 + 7 * 0.1 + 0.004) + (0.32 + 6 * 0.05 + 0.008)
    plain = clock.seconds(sent(), SPEEDS, 10, 8)
    assert clock.seconds(sent(calibrated=calibrated), SPEEDS, 10, 8) == pytest.approx(plain + extra)


@pytest.mark.parametrize("charge", ["paper", "uplink"])
def test_what_is_not_charged_takes_no_time(charge):
    plain = Clock(charge).seconds(sent(), SPEEDS, 10, 8)
    assert Clock(charge).seconds(sent(range(3), [Calibrated(1, 7, 10**6)]), SPEEDS, 10, 8) == plain


def test_the_time_budget_is_the_round_of_an_average_client():
    # 0.2·32·7,850 bit at 3 Mb/s and 50 steps of 0.3 s
    assert time_budget(0.2, 7850, 3e6, 50, 0.3) == pytest.approx(50_240 / 3e6 + 15)
