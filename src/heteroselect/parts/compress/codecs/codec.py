"""What a codec is: it turns the values of an update into bytes, and back.

The wire sends the header, the checksum and the positions. A compressor with values of its own brings a codec of its
own: what it makes stands in `Update.coded`, which names the codec. `tests/compressing.py` has a whole example.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from heteroselect.core.update import Update, Values

OWN = range(128, 256)  # kind bytes that are left to codecs outside this package


@dataclass(frozen=True)
class Head:
    """What the header says of the values: the vector's size N, the number κ of values sent, and two numbers that each
    codec may use as it likes (`steps` below 256, `buckets` below 2³²)."""

    size: int
    kept: int
    steps: int = 0
    buckets: int = 0


class Coded(Protocol):
    """How the values of an update are sent, where not as float32."""

    @property
    def codec(self) -> "Codec": ...
    def values(self) -> "Values":
        """What the server will see: the numbers the codes stand for, all finite."""


class Codec(Protocol):
    """Values as bytes. The server reads bytes of clients that it need not trust: `unpack` has to check what `head`
    claims against `data` before it allocates anything; whatever it raises refuses the payload."""

    @property
    def code(self) -> int:
        """The kind byte of the header: 128 to 255 for a codec from outside this package."""

    @property
    def whole(self) -> bool:
        """Whether what is sent stands for all N coordinates, so that no positions are sent; κ is then whatever the
        codec counts, N at most."""

    def pack(self, update: "Update") -> tuple[Head, bytes]:
        """The values of the update, whose `coded` is this codec's."""

    def unpack(self, head: Head, data: memoryview) -> tuple["Values", Coded | None]:
        """The values, float32 and finite, and how they were coded: κ of them, or N where `whole`."""
