"""The paper's world: which streams its links come from, when it asks for losses, and what is typical of it."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from heteroselect.core.streams import Streams
from heteroselect.world import (
    Availability,
    Devices,
    DrawnWorld,
    GivenDevices,
    Intervals,
    Links,
    MeasuredLinks,
    measured_links,
    typical,
)

STREAMS = Streams(7)


def test_links_and_devices_come_from_streams_of_their_own():
    found = DrawnWorld().conditions(3, 0.0, 5, lambda: np.ones(5), STREAMS)
    assert_array_equal(found.up, STREAMS.numpy("links", round=3).uniform(1, 5, 5) * 1e6)
    assert_array_equal(found.down, STREAMS.numpy("downlinks", round=3).uniform(5, 25, 5) * 1e6)
    assert_array_equal(found.step_seconds, STREAMS.numpy("devices").uniform(0.1, 0.5, 5))
    assert found.available.all()


@pytest.mark.parametrize("stress", ["inverse", "permuted"])
def test_a_stressed_world_asks_for_the_losses_once(stress):
    asked = []

    def losses():
        asked.append(1)
        return np.array([0.5, 2.0, 1.0])

    found = DrawnWorld(Links(stress=stress)).conditions(1, 0.0, 3, losses, STREAMS)
    assert len(asked) == 1
    assert np.argsort(found.up).tolist() == [1, 2, 0]


@pytest.mark.parametrize("uplinks", [Links(), MeasuredLinks()])
def test_any_other_world_does_not_ask(uplinks):
    def losses():
        raise AssertionError

    assert len(DrawnWorld(uplinks).conditions(1, 0.0, 3, losses, STREAMS).up) == 3


def test_the_typical_client_is_in_the_middle_of_both_ranges():
    assert typical(DrawnWorld(Links(2, 10), Devices(0.2, 0.4)), 9, STREAMS) == (6e6, (0.2 + 0.4) / 2)
    assert typical(DrawnWorld(MeasuredLinks(), GivenDevices(np.array([1.0, 3]))), 2, STREAMS) == (3e6, 2)


def test_what_is_typical_of_a_users_world_is_what_its_clients_have_at_the_start():
    @dataclass
    class Own:
        def conditions(self, round, now, clients, losses, streams):
            assert (round, now) == (1, 0)
            return DrawnWorld(Links(2, 2), GivenDevices(np.array([1.0, 3]))).conditions(
                round, now, clients, losses, streams
            )

    assert typical(Own(), 2, STREAMS) == (2e6, 2)


def test_measured_links_are_found_below_other_worlds():
    links = MeasuredLinks()
    assert measured_links(Intervals(DrawnWorld(links), Availability.of([[(0, 1)]], 2))) is links
    assert measured_links(DrawnWorld()) is None
    assert measured_links(object()) is None
