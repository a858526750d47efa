from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, allocate, compress

ENTRY = Entry(
    Method(
        "aji",
        allocate=allocate.UniformShare(average=0.01),
        error_feedback=compress.ErrorMemory("static", static=1.0),
        compress=compress.Threshold(),
        weigh=aggregate.Equal(),
    ),
    family="compression",
    summary="coordinates above a threshold, error memory",
    paper='Aji, Heafield, "Sparse communication for distributed gradient descent", EMNLP 2017',
    leaves_out="one threshold per layer: it is one for the whole model",
)
