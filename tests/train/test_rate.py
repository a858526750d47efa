"""The learning rate by hand (eq. 12)."""

import numpy as np
import pytest

from heteroselect.moment import Moment
from heteroselect.train import Rate

SCORES = np.array([0.0, 0.5, 1.0])


@pytest.mark.parametrize(("round", "eta"), [(1, 0.04975), (50, 0.0375), (100, 0.025), (250, 0.025)])
def test_eta_falls_to_half_and_stays_there(round: int, eta: float) -> None:
    assert Rate().eta(Moment(round, 100)) == pytest.approx(eta, rel=1e-12)


def test_start_and_decay_are_settings() -> None:
    assert Rate(start=0.1, decay=0.8).eta(Moment(5, 10)) == pytest.approx(0.06)
    assert Rate(start=0.1, decay=0.0).eta(Moment(10, 10)) == 0.1


def test_all_share_one_rate_whatever_their_score() -> None:
    assert Rate().of_clients(Moment(100, 100), SCORES) == [0.025] * 3


def test_a_score_scales_the_rate() -> None:
    assert Rate(rule="score").of_clients(Moment(50, 100), SCORES) == pytest.approx([0.0375, 0.05625, 0.075])


def test_the_cap_holds_for_scaled_rates() -> None:
    rates = Rate(rule="score", cap=0.05).of_clients(Moment(50, 100), SCORES)
    assert rates == pytest.approx([0.0375, 0.05, 0.05])
