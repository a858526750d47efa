"""FedBand: clients whose updates deviate more send more, and the others defer.

Reconstructed from the abstract; deviations are those of the last uploads.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.allocate import FedBand
from heteroselect.parts.compress import ErrorMemory, TopK
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fedband", allocate=FedBand(), error_feedback=ErrorMemory("static", static=1.0), compress=TopK()),
    summary="clients whose updates deviate more send more, and the others defer",
    paper='Alanazi, Fahim, Ibnath, Guler, Roy-Chowdhury, Swami, Papalexakis, Krishnamurthy, "FedBand: Adaptive federated learning with bandwidth constraints", ICCCN 2025',
    leaves_out="sending nothing at all: whoever defers sends the least density and keeps the rest in its memory",
    reconstruction=True,
)
