"""Sparse ternary compression: the largest coordinates as one magnitude and a sign each, with an error memory.

At the paper's density of 1/100 it starts slowly: above 80 % on MNIST after 15 rounds.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.allocate import UniformShare
from heteroselect.parts.compress import STC, ErrorMemory
from heteroselect.round.method import Method

ENTRY = Entry(
    Method(
        "stc",
        allocate=UniformShare(average=0.01),
        error_feedback=ErrorMemory("static", static=1.0),
        compress=STC(rounding="ceil"),
        weigh=Equal(),
    ),
    summary="the largest coordinates as one magnitude and a sign each, with an error memory",
    paper='Sattler, Wiedemann, Müller, Samek, "Robust and communication-efficient federated learning from non-i.i.d. data", TNNLS 2020',
    leaves_out="compression downwards, which method.downlink.kind=steps with coder stc and density 0.01 adds",
)
