"""What the round runs in: links, devices, the clock and the ledger."""

from dataclasses import dataclass

from heteroselect.population import Reals
from heteroselect.world.devices import Devices
from heteroselect.world.links import Links

__all__ = ["Devices", "Links", "World"]


@dataclass(frozen=True)
class World:
    """The links, the speed of each device, and the time budget behind the ceiling of eq. 8."""

    links: Links
    step_seconds: Reals
    budget_seconds: float
