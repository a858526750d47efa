"""Gradient dropping: all coordinates above a threshold that a sample gives, with an error memory."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.allocate import UniformShare
from heteroselect.parts.compress import ErrorMemory, Threshold
from heteroselect.round.method import Method

ENTRY = Entry(
    Method(
        "aji",
        allocate=UniformShare(average=0.01),
        error_feedback=ErrorMemory("static", static=1.0),
        compress=Threshold(),
        weigh=Equal(),
    ),
    summary="all coordinates above a threshold that a sample gives, with an error memory",
    paper='Aji, Heafield, "Sparse communication for distributed gradient descent", EMNLP 2017',
    leaves_out="one threshold per layer: it is one for the whole model",
)
