"""The learning rate (eq. 12) and the steps of each device, by hand."""

import numpy as np
import pytest

from heteroselect.core.moment import Moment
from heteroselect.parts.train import CosineRate, DeviceSteps, ScoreRate, SharedRate
from heteroselect.parts.train.work import longer

SCORES = np.array([0.0, 0.5, 1.0])


@pytest.mark.parametrize(("round", "eta"), [(1, 0.04975), (50, 0.0375), (100, 0.025), (250, 0.025)])
@pytest.mark.parametrize("kind", [SharedRate, ScoreRate])
def test_eta_falls_to_half_and_stays_there(kind, round, eta):
    assert kind().eta(Moment(round, 100)) == pytest.approx(eta, rel=1e-12)


def test_start_and_decay_are_settings():
    assert SharedRate(start=0.1, decay=0.8).eta(Moment(5, 10)) == pytest.approx(0.06)
    assert SharedRate(start=0.1, decay=0.0).eta(Moment(10, 10)) == 0.1


def test_all_share_one_rate_whatever_their_score():
    assert SharedRate().of_clients(Moment(100, 100), SCORES) == [0.025] * 3


def test_a_score_scales_the_rate_up_to_the_cap():
    assert ScoreRate().of_clients(Moment(50, 100), SCORES) == pytest.approx([0.0375, 0.05625, 0.075])
    assert ScoreRate(cap=0.05).of_clients(Moment(50, 100), SCORES) == pytest.approx([0.0375, 0.05, 0.05])


@pytest.mark.parametrize(
    ("seconds", "steps"),
    [
        pytest.param([0.1, 0.2, 0.5], [100, 50, 20], id="as many as fit into the median's time"),
        pytest.param([0.01, 1.0, 1.0, 900.0], [200, 50, 50, 1], id="between 1 and 4H"),
        pytest.param([0.0, 0.2, 0.5], [50, 50, 50], id="H where a step takes no time"),
    ],
)
def test_steps_of_devices(seconds, steps):
    assert DeviceSteps().of(50, np.array(seconds)).tolist() == steps


@pytest.mark.parametrize(
    ("growth", "rate", "steps"),
    [
        (0, 0.01, 10),
        (1, 0.2, 10),
        (1, 0.1, 20),
        (2, 0.1, 40),
        (0.5, 0.05, 20),
        (1, 0.4, 10),
        (1, 0.001, 200),
        (2, 0.0, 200),
    ],
)
def test_rounds_become_longer_as_the_rate_falls(growth, rate, steps):
    assert longer(10, growth, 0.2, rate) == steps


@pytest.mark.parametrize(
    ("moment", "eta"),
    [
        (Moment(1, 10), 0.01),  # a tenth; two rounds of warm-up in equal steps
        (Moment(2, 10), 0.055),
        (Moment(3, 10), 0.1),
        (Moment(7, 10), 0.06),  # half way of the eight rounds after it: 0.2 + 0.8/2
        (Moment(11, 10), 0.02),
        (Moment(30, 10), 0.02),
    ],
)
def test_a_cosine_over_rounds_by_hand(moment, eta):
    assert CosineRate(0.1, warmup=2, final=0.2).eta(moment) == pytest.approx(eta)
    assert CosineRate(0.1, warmup=2, final=0.2).of_clients(moment, SCORES) == [pytest.approx(eta)] * 3


@pytest.mark.parametrize(
    ("now", "eta"), [(0, 0.01), (50, 0.055), (100, 0.1), (200, 0.085), (250, 0.07), (400, 0.04), (900, 0.04)]
)
def test_a_cosine_over_simulated_seconds_looks_at_no_round(now, eta):
    # 300 s after 100 s of warm-up: cos π/3 = 1/2 leaves 0.4 + 0.6·3/4 = 0.85, half way 0.7, the end 0.4
    rate = CosineRate(0.1, horizon=400, warmup=100, final=0.4)
    assert rate.eta(Moment(1, 10, now)) == rate.eta(Moment(9, 10, now)) == pytest.approx(eta)


def test_a_warmup_that_is_never_over_ends_low():
    assert CosineRate(0.1, warmup=20, final=0.2).eta(Moment(10, 10)) == pytest.approx(0.1 * (0.1 + 0.9 * 9 / 20))
    assert CosineRate(0.1, horizon=5, warmup=20, final=0.2).eta(Moment(1, 10, 30)) == pytest.approx(0.02)
