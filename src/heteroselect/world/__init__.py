"""What the round runs in: links, devices, the clock and the ledger."""

from dataclasses import dataclass

from heteroselect.arrays import Reals
from heteroselect.streams import Streams
from heteroselect.world.clock import Clock, Speeds
from heteroselect.world.devices import Devices
from heteroselect.world.faults import Event, Faults
from heteroselect.world.links import Links, MeasuredLinks, Uplinks

__all__ = ["Clock", "Devices", "Event", "Faults", "Links", "MeasuredLinks", "Speeds", "World"]


@dataclass(frozen=True)
class World:
    """The links both ways, the speed of each device, the time budget behind the ceiling of eq. 8, and the clock."""

    links: Uplinks
    step_seconds: Reals
    budget_seconds: float
    downlinks: Links = Links(5.0, 25.0)
    clock: Clock = Clock()
    faults: Faults = Faults()

    def speeds(self, losses: Reals, streams: Streams, round: int) -> Speeds:
        """Drawn anew for each round, after the selection."""
        return Speeds(
            up=self.links.draw(losses, streams.numpy("links", round=round)),
            down=self.downlinks.draw(losses, streams.numpy("downlinks", round=round)),
            step_seconds=self.step_seconds,
        )
