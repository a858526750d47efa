"""The paper's world: links drawn anew for each round, devices drawn once, and everybody available."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heteroselect.conditions import Conditions
from heteroselect.world.devices import Devices, GivenDevices
from heteroselect.world.links import Links, MeasuredLinks
from heteroselect.world.world import Losses

if TYPE_CHECKING:
    from heteroselect.streams import Streams


@dataclass(frozen=True)
class DrawnWorld:
    """Uplinks as drawn or as measured, downlinks, and the seconds per step of each device."""

    uplinks: Links | MeasuredLinks = Links()
    devices: Devices | GivenDevices = Devices()
    downlinks: Links = Links(5.0, 25.0)

    def conditions(self, round: int, now: float, clients: int, losses: Losses, streams: "Streams") -> Conditions:
        stressed = self.uplinks.stress != "none" or self.downlinks.stress != "none"
        present = losses() if stressed else np.zeros(clients)
        return Conditions(
            up=self.uplinks.draw(present, streams.numpy("links", round=round)),
            down=self.downlinks.draw(present, streams.numpy("downlinks", round=round)),
            step_seconds=self.devices.step_seconds(clients, streams),
            available=np.ones(clients, bool),
        )

    def typical(self, clients: int, streams: "Streams") -> tuple[float, float]:
        """The middle of the range that links and of that which devices are drawn from."""
        return self.uplinks.mean, self.devices.mean
