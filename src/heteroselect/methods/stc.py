"""At the paper's density of 1/100 it starts slowly: above 80 % on MNIST after 15 rounds."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, allocate, compress

ENTRY = Entry(
    Method(
        "stc",
        allocate=allocate.UniformShare(average=0.01),
        error_feedback=compress.ErrorMemory("static", static=1.0),
        compress=compress.STC(rounding="ceil"),
        weigh=aggregate.Equal(),
    ),
    family="compression",
    summary="signs of the largest coordinates, error memory",
    paper='Sattler, Wiedemann, Müller, Samek, "Robust and communication-efficient federated learning from non-i.i.d. data", TNNLS 2020',
    leaves_out="compression downwards, which method.downlink.kind=steps with coder stc and density 0.01 adds",
)
