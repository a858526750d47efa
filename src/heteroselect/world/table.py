"""A table of devices: what each of them can do, drawn per seed without replacement."""

from dataclasses import dataclass
from pathlib import Path

from heteroselect.core.arrays import Reals
from heteroselect.core.streams import Streams
from heteroselect.errors import HeteroSelectError
from heteroselect.extras import installed_files

REFERENCE_GFLOP = 0.6
"""Billions of operations of a forward pass of MobileNet V2 (Sandler et al., CVPR 2018: 300 million multiply-adds),
which the `compute_ms` of FedScale's tables were measured on."""


def phones() -> Path:
    """The table of the distribution heteroselect-phones, 9,242 devices; refused where that is not installed."""
    folder = installed_files("heteroselect_phones")
    if folder is None:
        raise HeteroSelectError(
            "world.table: the table of devices is not installed; `pip install 'heteroselect[phones]'` brings it, or "
            "name a CSV file of your own."
        )
    return folder / "devices.csv.xz"


@dataclass(frozen=True)
class DeviceTable:
    """FLOP/s, bit/s up and bit/s down of some devices, one entry per device; None where the table does not say."""

    flops: Reals | None = None
    up: Reals | None = None
    down: Reals | None = None

    def __len__(self) -> int:
        return max(len(column) for column in (self.flops, self.up, self.down, ()) if column is not None)

    def drawn(self, clients: int, streams: Streams) -> "DeviceTable":
        """The devices of the clients: as many rows as there are clients, drawn without replacement."""
        if clients > len(self):
            raise ValueError(f"allowed is at least a row for each of the {clients} clients, not {len(self)}")
        rows = streams.numpy("device table").permutation(len(self))[:clients]
        flops, up, down = (None if column is None else column[rows] for column in (self.flops, self.up, self.down))
        return DeviceTable(flops, up, down)
