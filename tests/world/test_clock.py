"""How long a round takes, by what is charged."""

from dataclasses import replace

import numpy as np
import pytest

from heteroselect.core.conditions import Conditions
from heteroselect.world import Clock, LinkTrace, Rates, time_budget
from heteroselect.world.clock import CHARGES
from heteroselect.world.ledger import Calibrated, Messages

STEADY = Conditions(
    up=np.array([1e6, 2e6, 1e6]),
    down=np.array([10e6, 20e6, 5e6]),
    step_seconds=np.array([0.1, 0.2, 0.4]),
    available=np.ones(3, bool),
)


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


def seconds(clock, messages, conditions, passes, batches, now=0.0):
    """A whole round whose server waits for the slowest, by the clock's own way of charging."""
    timing = clock.timing(messages, conditions, passes, batches, now).waited(lambda answers: float(answers.max()))
    return timing.calibrated(clock, messages, conditions).own.total


def test_the_papers_clock():
    # client 1: 1.6 Mb at 2 Mb/s and ten steps of 0.2 s; client 0: 0.32 Mb at 1 Mb/s and ten of 0.1 s
    assert seconds(Clock("paper"), sent(), STEADY, 10, 8) == pytest.approx(max(0.8 + 2.0, 0.32 + 1.0))
    assert seconds(Clock("paper"), sent(asked=range(3)), STEADY, 10, 8) == pytest.approx(2.8)


def test_the_clock_of_real_uploads():
    # 250 kB are 2 Mb: one second at 2 Mb/s
    assert seconds(Clock("uplink"), sent(), STEADY, 10, 8) == pytest.approx(max(1.0 + 2.0, 0.4 + 1.0))


def test_the_clock_of_everything_without_scoring():
    # 400 kB are 3.2 Mb down: 0.16 s at 20 Mb/s, 0.32 s at 10 Mb/s
    assert seconds(Clock("everything"), sent(), STEADY, 10, 8) == pytest.approx(max(0.16 + 3.0, 0.32 + 1.4))


def test_scoring_ends_with_the_slowest_asked_and_spares_the_second_download():
    # client 2: 3.2 Mb at 5 Mb/s, eight forward passes of 0.4/4 s, 32 bits at 1 Mb/s
    scoring = 0.64 + 8 * 0.1 + 32e-6
    clock = Clock("everything", forward_share=0.25)
    assert seconds(clock, sent(asked=range(3)), STEADY, 10, 8) == pytest.approx(scoring + 3.0)
    # asked only client 0: its download is spared, client 1 still needs its own
    only = 0.32 + 8 * 0.025 + 32e-6
    assert seconds(clock, sent(asked=[0]), STEADY, 10, 8) == pytest.approx(only + max(0.16 + 3.0, 1.4))


def test_making_a_payload_takes_device_time_where_everything_is_charged():
    # client 1 (0.2 s a step) is the slowest: 10 steps, and half a step of encoding with two passes of a probe
    clock, paper = Clock("everything", encode_share=0.5), Clock("paper", encode_share=0.5)
    probed = replace(sent(), probe=2.0)
    before = seconds(Clock("everything"), sent(), STEADY, 10, 8)
    assert seconds(clock, sent(), STEADY, 10, 8) == pytest.approx(before + 0.5 * 0.2)
    assert seconds(clock, probed, STEADY, 10, 8) == pytest.approx(before + 2.5 * 0.2)
    assert seconds(paper, probed, STEADY, 10, 8) == seconds(Clock("paper"), sent(), STEADY, 10, 8)


def test_latency_is_paid_by_each_message_where_everything_is_charged():
    # nobody was asked: the model down and the update up are two messages of the slowest client
    plain, slow = Clock("everything"), Clock("everything", latency=0.5)
    assert seconds(slow, sent(), STEADY, 10, 8) == pytest.approx(seconds(plain, sent(), STEADY, 10, 8) + 2 * 0.5)
    # who was scored has the model: its ask and its answer are two messages, its update is the third
    asked = seconds(slow, sent(asked=range(3)), STEADY, 10, 8)
    assert asked == pytest.approx(seconds(plain, sent(asked=range(3)), STEADY, 10, 8) + 3 * 0.5)
    one = sent(calibrated=[Calibrated(1, 7, 10**6)])
    before = (
        seconds(slow, sent(), STEADY, 10, 8)
        + seconds(plain, one, STEADY, 10, 8)
        - seconds(plain, sent(), STEADY, 10, 8)
    )
    assert seconds(slow, one, STEADY, 10, 8) == pytest.approx(before + 2 * 0.5)
    for charge in ("paper", "uplink"):
        assert seconds(replace(slow, charge=charge), sent(), STEADY, 10, 8) == seconds(
            Clock(charge), sent(), STEADY, 10, 8
        )


def test_lost_bits_are_sent_again_where_everything_is_charged():
    # 0.16 s down and 1 s up of client 1, who also computes for 2 s; half of the bits are lost
    assert seconds(Clock("everything", loss=0.5), sent(), STEADY, 10, 8) == pytest.approx(2 * 0.16 + 2.0 + 2 * 1.0)
    assert seconds(Clock("uplink", loss=0.5), sent(), STEADY, 10, 8) == seconds(Clock("uplink"), sent(), STEADY, 10, 8)


def held():
    """Clients 1, 0 and 2 train, and 0 alone is asked for its update of 50 kB."""
    return replace(
        sent(),
        selected=np.array([1, 0, 2]),
        densities=np.array([0.0, 0.1, 0.0]),
        payloads=[0, 50_000, 0],
        held=True,
    )


@pytest.mark.parametrize(
    ("charge", "expected"),
    [
        # training takes 2, 1 and 4 s; nobody can be chosen before second 4, and then client 0 sends 0.32 or 0.4 Mb
        ("paper", [2.0, 4 + 0.32, 4.0]),
        ("uplink", [2.0, 4 + 0.4, 4.0]),
        # the model takes 0.16, 0.32 and 0.64 s down, the length of an update 32 bits up; 0 encodes for half a step
        ("everything", [2.16 + 16e-6, 4.64 + 32e-6 + 0.05 + 0.4, 4.64 + 32e-6]),
    ],
)
def test_nobody_is_chosen_to_send_before_the_last_has_trained(charge, expected):
    np.testing.assert_allclose(Clock(charge, encode_share=0.5).spent(held(), STEADY, 10, 0.0).total, expected)


def test_an_update_that_was_held_meets_the_rates_of_the_time_at_which_it_is_sent():
    # from second 1 on it would have 1 Mb/s; from second 4 on it has 3
    spent = Clock("uplink").spent(held(), changing(), 10, 0.0)
    np.testing.assert_allclose(spent.up, [0, 0.4 / 3, 0])
    np.testing.assert_allclose(spent.total, [2, 4 + 0.4 / 3, 4])


def test_calibration_goes_from_client_to_client():
    clock = Clock("everything", forward_share=0.5)
    calibrated = [Calibrated(1, 7, 1000), Calibrated(0, 6, 1000)]
    extra = (0.16 + 7 * 0.1 + 0.004) + (0.32 + 6 * 0.05 + 0.008)
    plain = seconds(clock, sent(), STEADY, 10, 8)
    assert seconds(clock, sent(calibrated=calibrated), STEADY, 10, 8) == pytest.approx(plain + extra)


@pytest.mark.parametrize("charge", ["paper", "uplink"])
def test_what_is_not_charged_takes_no_time(charge):
    plain = seconds(Clock(charge), sent(), STEADY, 10, 8)
    assert seconds(Clock(charge), sent(range(3), [Calibrated(1, 7, 10**6)]), STEADY, 10, 8) == plain


def test_the_time_budget_is_the_round_of_an_average_client():
    # 0.2·32·7,850 bit at 3 Mb/s and 50 steps of 0.3 s
    assert time_budget(0.2, 7850, 3e6, 50, 0.3) == pytest.approx(50_240 / 3e6 + 15)


def test_each_selected_client_has_its_own_passes():
    # 0.8 s up and 5 passes of 0.2 s; 0.32 s up and 30 of 0.1 s
    answers = Clock("paper").spent(sent(), STEADY, np.array([5.0, 30.0]), 0.0).total
    np.testing.assert_allclose(answers, [1.8, 3.32])


def changing(down=()):
    """Every uplink has 1 Mb/s for 4 s, then 3 Mb/s for 4 s, and so on."""
    trace = LinkTrace((Rates(np.array([0.0, 4]), np.array([1e6, 3e6]), 8.0),), down)
    return Conditions(STEADY.up, STEADY.down, STEADY.step_seconds, STEADY.available, transfers=trace)


@pytest.mark.parametrize(
    ("charge", "now", "passes", "expected"),
    [
        # 1.6 Mb from second 2 on; 0.32 Mb from second 1 on
        ("paper", 0.0, 10, [2 + 1.6, 1 + 0.32]),
        # 2 Mb from second 2 on: 2 s; 0.4 Mb from second 1 on
        ("uplink", 0.0, 10, [4.0, 1.4]),
        # 2 Mb from second 3 on: 1 Mb in 1 s, 1 Mb in 1/3 s; 0.4 Mb from second 2 on
        ("uplink", 1.0, 10, [2 + 4 / 3, 1.4]),
        # 2 Mb from second 7 on: 3 Mb/s would do; 0.4 Mb from second 3.8 on: 0.2 Mb each in 0.2 s and 0.2/3 s
        ("uplink", 2.8, 10, [2 + 2 / 3, 1 + 0.2 + 0.2 / 3]),
        # 2 Mb from second 7.5 on: 1.5 Mb in 0.5 s, then the trace begins again: 0.5 Mb in 0.5 s
        ("uplink", 7.5, 0, [1.0, 0.4 / 3]),
    ],
)
def test_an_upload_begins_after_the_training_and_meets_the_rates_of_its_time(charge, now, passes, expected):
    np.testing.assert_allclose(Clock(charge).spent(sent(), changing(), passes, now).total, expected)


DOWN = (Rates(np.array([0.0, 1]), np.array([2e6, 4e6]), 2.0),)


def test_download_then_compute_then_upload_across_changes():
    # 3.2 Mb down: 2 Mb in 1 s, 1.2 Mb in 0.3 s; client 1 computes for 2 s, client 0 for 1 s
    # client 1: 2 Mb from 3.3 s on: 0.7 Mb in 0.7 s, 1.3 Mb in 1.3/3 s; client 0: 0.4 Mb from 2.3 s on
    answers = Clock("everything").spent(sent(), changing(DOWN), 10, 0.0).total
    np.testing.assert_allclose(answers, [1.3 + 2 + 0.7 + 1.3 / 3, 1.3 + 1 + 0.4])


def test_scoring_comes_before_and_calibration_after_the_training():
    clock, conditions = Clock("everything", forward_share=0.25), changing(DOWN)
    messages = sent([2], [Calibrated(0, 8, 125_000), Calibrated(2, 5, 125_000)])
    # client 2: 1.3 s down, eight forward passes of 0.1 s, 32 bits at 1 Mb/s
    scoring = 1.3 + 0.8 + 32e-6
    assert clock.scoring(messages, conditions, 8, 0.0) == pytest.approx(scoring)
    # at second 6: 1.3 s down, 8 passes of 0.025 s until 7.5 s, 1 Mb up in 1/3 s; then from 7 5/6 s on 1/6 s at 4 Mb/s,
    # 1 s at 2 Mb/s and the last 3.2 − 2 2/3 Mb in 2/15 s, 5 passes of 0.1 s, at 9 19/30 s 1 Mb in 1 s
    assert clock.calibration(messages, conditions, 6.0) == pytest.approx((1.5 + 1 / 3) + (1 / 6 + 1 + 2 / 15 + 0.5 + 1))


def test_a_whole_round_is_scoring_training_and_calibration_one_after_the_other():
    clock, conditions = Clock("everything"), changing(DOWN)
    messages = sent([2], [Calibrated(0, 8, 125_000)])
    scoring = clock.scoring(messages, conditions, 8, 50.0)
    training = clock.spent(messages, conditions, 10, 50.0 + scoring).total.max()
    calibration = clock.calibration(messages, conditions, 50.0 + scoring + training)
    assert seconds(clock, messages, conditions, 10, 8, 50.0) == pytest.approx(scoring + training + calibration)


def test_one_timing_has_the_seconds_of_every_clock():
    messages = sent([2], [Calibrated(0, 8, 125_000)])
    timing = Clock("uplink").timing(messages, changing(DOWN), 10, 8, 50.0).waited(max)
    timing = timing.calibrated(Clock("uplink"), messages, changing(DOWN))
    alone = {charge: seconds(Clock(charge), messages, changing(DOWN), 10, 8, 50.0) for charge in CHARGES}
    assert {charge: one.total for charge, one in timing.by_charge.items()} == alone
    assert timing.own.total == alone["uplink"]
