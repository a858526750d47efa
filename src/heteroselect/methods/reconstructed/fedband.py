"""Deviations are those of the last uploads."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import allocate, compress

ENTRY = Entry(
    Method(
        "fedband",
        allocate=allocate.FedBand(),
        error_feedback=compress.ErrorMemory("static", static=1.0),
        compress=compress.TopK(),
    ),
    family="compression",
    summary="updates that deviate more send more",
    paper='Alanazi, Fahim, Ibnath, Guler, Roy-Chowdhury, Swami, Papalexakis, Krishnamurthy, "FedBand: Adaptive federated learning with bandwidth constraints", ICCCN 2025',
    leaves_out="sending nothing at all: whoever defers sends the least density and keeps the rest in its memory",
)
