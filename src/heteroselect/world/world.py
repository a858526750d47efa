"""The world: what clients have to work with at a moment. Any object with `conditions` is one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.conditions import Conditions
from heteroselect.core.streams import Streams
from heteroselect.errors import HeteroSelectError
from heteroselect.world.attack import Attack
from heteroselect.world.clock import Clock
from heteroselect.world.faults import Faults
from heteroselect.world.links import MeasuredLinks

Losses = Callable[[], Reals]
"""Gives the present loss of every client, when it is called."""


@runtime_checkable
class World(Protocol):
    """Links, devices and availability of all clients, as a function of the round and the simulated second.

    The same arguments give the same conditions, with random numbers from `streams`, and nothing is kept from call to
    call, so that a run can be resumed. `losses()` costs a forward pass at each client: call it only where it matters.
    """

    def conditions(self, round: int, now: float, clients: int, losses: Losses, streams: Streams) -> Conditions: ...


@runtime_checkable
class _Typical(Protocol):
    def typical(self, clients: int, streams: Streams) -> tuple[float, float]: ...


@dataclass(frozen=True)
class Environment:
    """All that a round runs in: the world, the time budget T_budget of eq. 8, what is charged, what goes wrong, and
    who is hostile."""

    world: World
    budget_seconds: float
    clock: Clock = Clock()
    faults: Faults = Faults()
    attack: Attack = Attack()


def typical(world: World, clients: int, streams: Streams) -> tuple[float, float]:
    """Mean uplink in bit/s and mean seconds per step, which the time budget of eq. 8 is made of: what a method of this
    name knows, where the world has one, else what its clients have at second 0."""
    if isinstance(world, _Typical):
        return world.typical(clients, streams)
    found = world.conditions(1, 0.0, clients, lambda: np.ones(clients), streams)
    refuse_bad_conditions(found, clients)
    return float(found.up.mean()), float(found.step_seconds.mean())


def measured_links(world: World) -> MeasuredLinks | None:
    """The measured links at the bottom of a world, which an engine adds its measurements to; None without any."""
    inner: object = world
    while hasattr(inner, "world"):
        inner = inner.world
    links = getattr(inner, "uplinks", None)
    return links if isinstance(links, MeasuredLinks) else None


def refuse_bad_conditions(found: object, clients: int) -> None:
    """A world may be anybody's: what it answers is looked at before it is used."""
    if not isinstance(found, Conditions):
        raise HeteroSelectError(f"world: allowed are Conditions as its answer, not {type(found).__name__}.")
    for name in ("up", "down", "step_seconds", "available"):
        array = np.asarray(getattr(found, name))
        if array.shape != (clients,):
            raise HeteroSelectError(f"world: {name} must have one entry for each of {clients} clients.")
        low = 0.0 if name in ("step_seconds", "available") else np.nextafter(0.0, 1.0)
        if not (np.isfinite(array).all() and (array >= low).all()):
            raise HeteroSelectError(f"world: {name} must be finite and {'≥' if low == 0 else '>'} 0 for every client.")
