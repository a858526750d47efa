"""Links that persist, and links and devices that hang together: the correlations asked for, and unchanged marginals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest, spearmanr

from heteroselect.core.streams import Streams
from heteroselect.world import Coupling, Devices, DrawnWorld, GivenDevices, Links
from heteroselect.world.coupling import ranks

CLIENTS, STREAMS = 4000, Streams(11)
LABELS = np.arange(CLIENTS) % 10.0


def world(**settings):
    return DrawnWorld(Links(1, 5), Devices(0.1, 0.5), Links(5, 25), Coupling(**settings))


def found(world, round=1, clients=CLIENTS):
    return world.conditions(round, 0.0, clients, lambda: pytest.fail("no losses are needed"), STREAMS)


def rank_correlation(normal):
    """Of two uniform numbers whose normal scores have this correlation."""
    return 6 / np.pi * np.arcsin(normal / 2)


@pytest.mark.parametrize(
    "settings",
    [
        {"persistence": 0.9},
        {"links_by_speed": 0.8},
        {"links_by_label": -0.7, "labels": LABELS},
        {"speed_by_label": 1.0, "labels": LABELS},
        {"persistence": 0.5, "links_by_speed": 0.6, "links_by_label": 0.5, "speed_by_label": 0.3, "labels": LABELS},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_links_and_devices_keep_their_distributions(settings):
    for round in (1, 7):
        conditions = found(world(**settings), round)
        for values, low, width in (
            (conditions.up, 1e6, 4e6),
            (conditions.down, 5e6, 20e6),
            (conditions.step_seconds, 0.1, 0.4),
        ):
            assert kstest((values - low) / width, "uniform").statistic < 0.035


@pytest.mark.parametrize("persistence", [0.5, 0.9])
def test_a_link_is_like_itself_in_the_round_before_and_less_like_itself_three_rounds_before(persistence):
    first, second, fourth = (found(world(persistence=persistence), round).up for round in (3, 4, 6))
    assert spearmanr(first, second).statistic == pytest.approx(rank_correlation(persistence), abs=0.03)
    assert spearmanr(first, fourth).statistic == pytest.approx(rank_correlation(persistence**3), abs=0.04)


def test_the_scores_of_a_round_by_hand():
    rng = STREAMS.numpy("links scores")
    start, one, two = (rng.standard_normal(3) for _ in range(3))
    expected = 0.6 * (0.6 * start + 0.8 * one) + 0.8 * two
    assert_allclose(Coupling(persistence=0.6).links("links", 2, 3, STREAMS), expected)
    assert_allclose(found(world(persistence=0.6), 2, clients=3).up, (1 + 4 * ranks(expected)) * 1e6)


@pytest.mark.parametrize("strength", [0.7, -0.7])
def test_fast_devices_have_fast_links_or_slow_ones(strength):
    conditions = found(world(links_by_speed=strength), 5)
    expected = -rank_correlation(strength)  # seconds are the opposite of a speed
    assert spearmanr(conditions.up, conditions.step_seconds).statistic == pytest.approx(expected, abs=0.04)
    assert spearmanr(conditions.down, conditions.step_seconds).statistic == pytest.approx(expected, abs=0.04)


def test_the_clients_of_the_first_classes_are_the_slow_ones():
    whole = found(world(links_by_label=1.0, speed_by_label=-1.0, labels=LABELS))
    assert whole.up[LABELS == 0].max() < whole.up[LABELS == 1].min() < whole.up[LABELS == 9].min()
    assert whole.step_seconds[LABELS == 0].max() < whole.step_seconds[LABELS == 9].min()
    half = found(world(links_by_label=0.5, labels=LABELS))
    assert spearmanr(half.up, LABELS).statistic == pytest.approx(rank_correlation(0.5), abs=0.04)
    assert abs(spearmanr(half.step_seconds, LABELS).statistic) < 0.05


def test_without_any_of_it_the_draws_are_those_of_the_papers_world():
    assert not Coupling().active
    plain, same = found(DrawnWorld(), clients=5), found(world(), clients=5)
    assert plain.up.tolist() == same.up.tolist()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"persistence": 1.0}, "persistence"),
        ({"links_by_speed": 1.1}, "links_by_speed"),
        ({"links_by_speed": 0.8, "links_by_label": 0.8, "labels": LABELS}, "more than 1"),
        ({"links_by_label": 0.5}, "labels"),
    ],
)
def test_what_cannot_be_is_refused(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        Coupling(**settings)


def test_only_what_is_drawn_can_be_coupled():
    for wrong in (
        DrawnWorld(Links(stress="permuted"), coupling=Coupling(0.5)),
        DrawnWorld(devices=GivenDevices(np.ones(3)), coupling=Coupling(0.5)),
    ):
        with pytest.raises(ValueError, match="coupling: allowed where links and devices are drawn"):
            found(wrong, clients=3)
