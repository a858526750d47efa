"""The devices' speed: one draw per run, from the run's streams or as in the authors' runs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heteroselect.core.streams import Streams
from heteroselect.world import Devices, FlopDevices, GivenDevices


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        # RandomState(seed + 9999).uniform(0.1, 0.5, 100), entries 0, 1, 2, 3 and 99
        (42, [0.2962415148487968, 0.1622723319897455, 0.4390258434009807, 0.4834251582180019, 0.33488414294725677]),
        (43, [0.3606922912250379, 0.2155833169121396, 0.3206133534129678, 0.4574931877204641, 0.39592582065225435]),
    ],
)
def test_the_authors_devices(seed, expected):
    seconds = Devices(draw="authors").step_seconds(100, Streams(seed))
    assert seconds.shape == (100,)
    assert_allclose(seconds[[0, 1, 2, 3, 99]], expected, rtol=1e-15)


@pytest.mark.parametrize("draw", ["streams", "authors"])
def test_devices_fill_their_range(draw):
    seconds = Devices(0.2, 0.6, draw).step_seconds(2000, Streams(1))
    assert 0.2 <= seconds.min() < 0.202
    assert 0.598 < seconds.max() <= 0.6
    # 2,000 draws of a standard deviation of 0.4/√12 s
    assert abs(seconds.mean() - Devices(0.2, 0.6).mean) < 4 * 0.4 / np.sqrt(12 * 2000)


def test_given_devices_are_as_given():
    devices = GivenDevices(np.array([0.1, 0.3]))
    assert devices.step_seconds(2, Streams(1)).tolist() == [0.1, 0.3]
    assert devices.mean == pytest.approx(0.2)
    with pytest.raises(ValueError, match="each of the 3 clients"):
        devices.step_seconds(3, Streams(1))


def test_seconds_per_step_follow_from_the_model():
    # a billion operations at 2 to 10 billions a second
    devices = FlopDevices(1e9, 2.0, 10.0)
    drawn = devices.step_seconds(1000, Streams(3))
    assert drawn.tolist() == devices.step_seconds(1000, Streams(3)).tolist()
    assert 0.1 <= drawn.min() < 0.11
    assert 0.45 < drawn.max() <= 0.5
    assert_allclose(FlopDevices(3e9, 2.0, 10.0).step_seconds(1000, Streams(3)), 3 * drawn)
    assert devices.mean == pytest.approx(1 / 6)
