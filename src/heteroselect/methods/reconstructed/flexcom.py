"""The abstract is arXiv 2012.11804."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import allocate, compress

ENTRY = Entry(
    Method(
        "flexcom",
        allocate=allocate.FlexCom(),
        error_feedback=compress.ErrorMemory("static", static=1.0),
        compress=compress.TopK(),
    ),
    family="compression",
    summary="a density per device, by what sending costs",
    paper='Li, Shi, Hou, Li, Pan, Han, "To talk or to work: Flexible communication compression for energy efficient federated learning over heterogeneous mobile edge devices", INFOCOM 2021',
    leaves_out="energy, in whose place time stands",
)
