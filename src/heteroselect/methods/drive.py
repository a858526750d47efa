"""DRIVE: uniform clients, updates rotated at random and sent as one bit per coordinate, without bias.

With `method.allocate.average` below 1 that share of the bits is sent, as in EDEN (ICML 2022).
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.allocate import UniformShare
from heteroselect.parts.compress import Drive
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("drive", allocate=UniformShare(average=1.0), compress=Drive(), weigh=Equal()),
    summary="updates rotated at random and sent as one bit per coordinate, without bias",
    paper='Vargaftik, Ben-Basat, Portnoy, Mendelson, Ben-Itzhak, Mitzenmacher, "DRIVE: One-bit distributed mean estimation", NeurIPS 2021',
)
