"""The paper's world: links drawn anew for each round, devices drawn once, and everybody available."""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.conditions import Conditions
from heteroselect.core.streams import Streams
from heteroselect.world.coupling import Coupling, ranks
from heteroselect.world.devices import Devices, FlopDevices, GivenDevices
from heteroselect.world.links import GivenLinks, Links, MeasuredLinks
from heteroselect.world.world import Losses


@dataclass(frozen=True)
class DrawnWorld:
    """Uplinks as drawn, as measured or as given, downlinks, and the seconds per step of each device; and how they hang
    together, where they are drawn."""

    uplinks: Links | MeasuredLinks | GivenLinks = Links()
    devices: Devices | FlopDevices | GivenDevices = Devices()
    downlinks: Links | GivenLinks = Links(5.0, 25.0)
    coupling: Coupling = Coupling()

    def conditions(self, round: int, now: float, clients: int, losses: Losses, streams: Streams) -> Conditions:
        if self.coupling.active:
            return self._coupled(round, clients, streams)
        stressed = any(isinstance(one, Links) and one.stress != "none" for one in (self.uplinks, self.downlinks))
        present = losses() if stressed else np.zeros(clients)
        return Conditions(
            up=self.uplinks.draw(present, streams.numpy("links", round=round)),
            down=self.downlinks.draw(present, streams.numpy("downlinks", round=round)),
            step_seconds=self.devices.step_seconds(clients, streams),
            available=np.ones(clients, bool),
        )

    def _coupled(self, round: int, clients: int, streams: Streams) -> Conditions:
        """The same with links and devices that hang together; each keeps its distribution."""
        links = [one for one in (self.uplinks, self.downlinks) if isinstance(one, Links) and one.stress == "none"]
        if len(links) < 2 or isinstance(self.devices, GivenDevices):
            raise ValueError("coupling: allowed where links and devices are drawn, and links are not stressed")
        up, down = (
            one.at(ranks(self.coupling.links(purpose, round, clients, streams)))
            for one, purpose in zip(links, ("links", "downlinks"), strict=True)
        )
        seconds = self.devices.at(ranks(self.coupling.speeds(clients, streams)))
        return Conditions(up=up, down=down, step_seconds=seconds, available=np.ones(clients, bool))

    def typical(self, clients: int, streams: Streams) -> tuple[float, float]:
        """The middle of the range that links and of that which devices are drawn from."""
        return self.uplinks.mean, self.devices.mean
