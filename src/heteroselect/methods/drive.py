"""With `method.allocate.average` below 1 that share of the bits is sent, as in EDEN (ICML 2022)."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, allocate, compress

ENTRY = Entry(
    Method("drive", allocate=allocate.UniformShare(average=1.0), compress=compress.Drive(), weigh=aggregate.Equal()),
    family="compression",
    summary="a random rotation, then one bit per coordinate",
    paper='Vargaftik, Ben-Basat, Portnoy, Mendelson, Ben-Itzhak, Mitzenmacher, "DRIVE: One-bit distributed mean estimation", NeurIPS 2021',
)
