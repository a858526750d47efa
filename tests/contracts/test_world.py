"""What every world keeps to: conditions of all clients, the same again for the same arguments, and nothing kept."""

import copy
import math
from dataclasses import dataclass, fields

import numpy as np
import pytest

from heteroselect.core.conditions import Conditions
from heteroselect.core.streams import Streams
from heteroselect.world import (
    Availability,
    Coupling,
    Devices,
    DrawnWorld,
    FlopDevices,
    GivenDevices,
    GivenLinks,
    Intervals,
    Links,
    LinkTrace,
    MeasuredLinks,
    Rates,
    TracedLinks,
    World,
    day_cycle,
    typical,
)

CLIENTS = 6


@dataclass(frozen=True)
class Nights:
    """Every second client is a phone, which is available from 22 to 6 o'clock; the others always are."""

    def conditions(self, round, now, clients, losses, streams):
        hour = now // 3600  # whole hours, so that no rounding keeps the clock just before a change
        night = not 6 <= hour % 24 < 22
        return Conditions(
            up=streams.numpy("nights", round=round).uniform(1e6, 5e6, clients),
            down=np.full(clients, 20e6),
            step_seconds=np.full(clients, 0.3),
            available=(np.arange(clients) % 2 == 0) | night,
            changes=3600 * (hour + 1),
        )


TRACE = LinkTrace((Rates(np.array([0.0, 4, 9]), np.array([1e6, 0, 3e6]), 20.0),), offset=3.0)
BOTH_WAYS = LinkTrace(TRACE.up, (Rates(np.array([0.0]), np.array([8e6]), 1.0),))
AWAY = Availability.of([[(0, 5), (30, 70)], [(20, 90)], []], 100.0)
WORLDS = {
    "drawn": DrawnWorld(),
    "inverse": DrawnWorld(Links(2, 3, "inverse")),
    "permuted": DrawnWorld(Links(stress="permuted"), Devices(draw="authors")),
    "given devices": DrawnWorld(devices=GivenDevices(np.linspace(0.1, 0.5, CLIENTS))),
    "measured": DrawnWorld(MeasuredLinks(estimates={1: 2e6, 4: 7e6})),
    "flops": DrawnWorld(devices=FlopDevices(1e9)),
    "given": DrawnWorld(
        GivenLinks(np.full(CLIENTS, 2e6)), GivenDevices(np.ones(CLIENTS)), GivenLinks(np.full(CLIENTS, 9e6))
    ),
    "persistent": DrawnWorld(coupling=Coupling(persistence=0.9)),
    "coupled": DrawnWorld(
        devices=FlopDevices(1e9), coupling=Coupling(0.5, -0.4, 0.7, 0.2, labels=np.array([0.0, 3, 1, 1, 2, 0]))
    ),
    "dealt": TracedLinks(DrawnWorld(), BOTH_WAYS.dealt(CLIENTS, Streams(5))),
    "days": Intervals(DrawnWorld(), day_cycle(CLIENTS, Streams(5), share=0.3, period=100.0, spread=0.8)),
    "dealt intervals": Intervals(DrawnWorld(), AWAY.dealt(CLIENTS, Streams(5))),
    "traced": TracedLinks(DrawnWorld(), TRACE),
    "traced both ways": TracedLinks(DrawnWorld(), BOTH_WAYS),
    "intervals": Intervals(DrawnWorld(), AWAY),
    "traced intervals": TracedLinks(Intervals(DrawnWorld(Links(stress="inverse")), AWAY), TRACE),
    "intervals of traced": Intervals(TracedLinks(DrawnWorld(), BOTH_WAYS), AWAY),
    "a user's": Nights(),
    "a user's, traced": TracedLinks(Nights(), TRACE),
}
MOMENTS = [(1, 0.0), (2, 4.0), (3, 33.3), (9, 86_399.5), (400, 1.25e6)]


@pytest.fixture(params=WORLDS.values(), ids=WORLDS.keys())
def world(request):
    return request.param


def losses():
    return np.linspace(0.5, 2.0, CLIENTS)


def found(world, round, now, seed=5, losses=losses):
    return world.conditions(round, now, CLIENTS, losses, Streams(seed))


def plain(conditions):
    """Everything that conditions hold as numbers, to compare."""
    kept = {one.name: getattr(conditions, one.name) for one in fields(conditions) if one.name != "transfers"}
    kept["moved"] = [
        move(np.arange(CLIENTS), 3e6, 2.5).tolist() for move in (conditions.up_seconds, conditions.down_seconds)
    ]
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in kept.items()}


def test_it_is_a_world(world):
    assert isinstance(world, World)


@pytest.mark.parametrize(("round", "now"), MOMENTS)
def test_there_is_one_number_per_client_and_it_is_possible(world, round, now):
    conditions = found(world, round, now)
    for array in (conditions.up, conditions.down, conditions.step_seconds):
        assert array.shape == (CLIENTS,)
        assert array.dtype == np.float64
        assert np.isfinite(array).all()
    assert (conditions.up > 0).all()
    assert (conditions.down > 0).all()
    assert (conditions.step_seconds >= 0).all()
    assert conditions.available.shape == (CLIENTS,)
    assert conditions.available.dtype == bool
    assert conditions.changes > now
    if conditions.leaves is not None:
        assert conditions.leaves.shape == (CLIENTS,)
        assert (conditions.leaves[conditions.available] > now).all()


@pytest.mark.parametrize(("round", "now"), MOMENTS)
def test_transfers_take_time_and_more_takes_longer(world, round, now):
    conditions, ids = found(world, round, now), np.array([4, 0, 1])
    for seconds in (conditions.up_seconds, conditions.down_seconds):
        nothing, little, much = (seconds(ids, bits, now) for bits in (0.0, 1e5, 1e8))
        assert nothing.tolist() == [0, 0, 0]
        assert (little > 0).all()
        assert (much > little).all()
        assert np.isfinite(much).all()


@pytest.mark.parametrize(("round", "now"), MOMENTS)
def test_the_same_seed_round_and_second_give_the_same_whatever_was_asked_before(world, round, now):
    expected = plain(found(copy.deepcopy(world), round, now))
    for other in MOMENTS[::-1]:
        found(world, *other)
    assert plain(found(world, round, now)) == expected


def test_neither_the_losses_nor_the_global_generator_are_touched(world):
    given, before = losses(), np.random.get_state()[1].copy()
    found(world, 1, 0.0, seed=77, losses=lambda: given)  # a seed that nothing else here uses
    assert given.tolist() == losses().tolist()
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_nothing_changes_between_now_and_the_next_change(world):
    conditions, now = found(world, 1, 33.0), 33.0
    for _ in range(5):
        if math.isinf(conditions.changes):
            return
        between = found(world, 1, (now + conditions.changes) / 2)
        assert between.available.tolist() == conditions.available.tolist()
        now = conditions.changes
        conditions = found(world, 1, now)


def test_what_is_typical_of_it_is_possible(world):
    link, step = typical(world, CLIENTS, Streams(5))
    assert 0 < link < math.inf
    assert 0 < step < math.inf
