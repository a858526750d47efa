"""From settings to the world they describe, and to digests of the files that it is read from."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.streams import Streams
from heteroselect.data.federation import Federation
from heteroselect.errors import DataError, SettingError
from heteroselect.files import opened
from heteroselect.settings import Config
from heteroselect.settings.world import AvailabilitySettings, WorldSettings
from heteroselect.world import (
    Coupling,
    Devices,
    DeviceTable,
    DrawnWorld,
    FlopDevices,
    GivenDevices,
    GivenLinks,
    Intervals,
    Links,
    MeasuredLinks,
    TracedLinks,
    World,
    day_cycle,
    read_devices,
    read_intervals,
    read_link_trace,
)
from heteroselect.world.devices import phones
from heteroselect.world.read import LONGEST

DOMINATES = 1.25
"""How many times as frequent as in all data a client's most frequent class must be to tell clients apart: MNIST that
was dealt out at random has 1.17 by chance, and the paper's partition 4."""


def world_of(
    config: Config,
    streams: Streams,
    *,
    step_flops: Callable[[], float] | None = None,
    labels: Callable[[], Reals] | None = None,
) -> World:
    """Links, devices and availability as the settings have them.

    `step_flops` counts the operations of a training step, `labels` gives a number per client that says which labels it
    has; both are called only where the settings ask for them.
    """
    settings = config.world
    if settings.links == "own":
        raise SettingError('world.links: "own" is a world handed over in Python; hand it over again (world=…).')
    table = _table(config, streams)
    uplinks, downlinks = _links(settings, table)
    world: World = DrawnWorld(uplinks, _devices(settings, table, step_flops), downlinks, _coupling(settings, labels))
    if settings.links == "trace":
        world = TracedLinks(world, read_link_trace(settings.trace).dealt(config.clients, streams))
    return world


def with_availability(world: World, settings: AvailabilitySettings, clients: int, streams: Streams) -> World:
    """The world, in which clients are there only when the settings say so."""
    if settings.kind == "file":
        return Intervals(world, read_intervals(settings.file).dealt(clients, streams))
    if settings.kind == "day":
        share, period, spread = settings.share, settings.period, settings.spread
        return Intervals(world, day_cycle(clients, streams, share=share, period=period, spread=spread))
    return world


def most_frequent(federation: Federation) -> Reals:
    """The most frequent class of each client, the smallest where there are several; refused where it says nothing of a
    client, because everybody has about the same mix of labels."""
    if federation.classes is None:
        raise SettingError("world.coupling: labels need targets that are class numbers.")
    counts = np.array([np.bincount(one.y.numpy().ravel(), minlength=federation.classes) for one in federation.clients])
    found: Counts = counts.argmax(axis=1)
    here, everywhere = counts.max(axis=1) / counts.sum(axis=1), (counts.sum(axis=0) / counts.sum())[found]
    if (excess := float((here / everywhere).mean())) < DOMINATES:
        raise SettingError(
            f"world.coupling: labels need clients whose most frequent class is at least {DOMINATES:g} times as "
            f"frequent with them as in all data (on average); here it is {excess:.2f} times."
        )
    return found.astype(float)


def files_of(settings: WorldSettings) -> dict[str, Path]:
    """The files that a world is read from, by the setting that names them."""
    found = {}
    if settings.links != "own" and "table" in (settings.links, settings.devices):
        found["world.table"] = Path(settings.table) if settings.table else phones()
    if settings.links == "trace":
        found["world.trace"] = Path(settings.trace)
    if settings.availability.kind == "file":
        found["world.availability.file"] = Path(settings.availability.file)
    return found


def digests_of(settings: WorldSettings) -> dict[str, str]:
    """The SHA-256 of each of these files."""
    found = {}
    for key, path in files_of(settings).items():
        try:
            with opened(path, LONGEST) as file:  # a folder may name anything, and is resumed by others
                found[key] = hashlib.sha256(file.read()).hexdigest()
        except OSError as error:
            raise DataError(f"{key}: {path} cannot be read ({error.strerror}).") from error
        except ValueError as error:
            raise DataError(f"{key}: {path} cannot be read ({error}).") from error
    return found


def _table(config: Config, streams: Streams) -> DeviceTable:
    """The rows of the clients; nothing where no table is asked for."""
    path = files_of(config.world).get("world.table")
    if path is None:
        return DeviceTable()
    try:
        return read_devices(path).drawn(config.clients, streams)
    except ValueError as error:
        raise DataError(f"world.table: {error} ({path}).") from error


def _links(
    settings: WorldSettings, table: DeviceTable
) -> tuple[Links | MeasuredLinks | GivenLinks, Links | GivenLinks]:
    """Uplinks and downlinks."""
    low, high = settings.bandwidth_min_mbps, settings.bandwidth_max_mbps
    downlinks = Links(settings.downlink_min_mbps, settings.downlink_max_mbps)
    if settings.links == "table":
        up, down = _column(table.up, "up", "links"), _column(table.down, "down", "links")
        return GivenLinks(up), GivenLinks(down)
    if settings.links == "measured":
        return MeasuredLinks(low, high), downlinks
    return Links(low, high, settings.stress), downlinks


def _devices(
    settings: WorldSettings, table: DeviceTable, step_flops: Callable[[], float] | None
) -> Devices | FlopDevices | GivenDevices:
    if settings.devices == "streams" or settings.devices == "authors":  # mypy narrows by these
        return Devices(settings.step_seconds_min, settings.step_seconds_max, settings.devices)
    if step_flops is None:
        raise SettingError(
            f"world.devices: {settings.devices} needs a model whose step can be counted beforehand; choose it in a "
            "run, and not in a strategy of your own."
        )
    if settings.devices == "flops":
        return FlopDevices(step_flops(), settings.gflops_min, settings.gflops_max)
    return GivenDevices(step_flops() / _column(table.flops, "flops", "devices"))


def _coupling(settings: WorldSettings, labels: Callable[[], Reals] | None) -> Coupling:
    chosen = settings.coupling
    if not (chosen.links_by_label or chosen.speed_by_label):
        return Coupling(**chosen.model_dump())
    if labels is None:
        raise SettingError(
            "world.coupling: labels need the clients' data; choose them in a run, and not in a strategy of your own."
        )
    return Coupling(**chosen.model_dump(), labels=labels())


def _column(found: Reals | None, name: str, setting: str) -> Reals:
    if found is None:
        columns = {"flops": "gflops or compute_ms"}.get(name, f"{name}_mbps or {name}_kbps")
        raise DataError(f"world.table: world.{setting}=table needs a table that has {columns}.")
    return found
