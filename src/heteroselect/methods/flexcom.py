"""FlexCom: every device has its own density, by what sending and waiting cost it.

Reconstructed from the abstract (arXiv 2012.11804).
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.allocate import FlexCom
from heteroselect.parts.compress import ErrorMemory, TopK
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("flexcom", allocate=FlexCom(), error_feedback=ErrorMemory("static", static=1.0), compress=TopK()),
    summary="every device has its own density, by what sending and waiting cost it",
    paper='Li, Shi, Hou, Li, Pan, Han, "To talk or to work: Flexible communication compression for energy efficient federated learning over heterogeneous mobile edge devices", INFOCOM 2021',
    leaves_out="energy, in whose place time stands",
    reconstruction=True,
)
