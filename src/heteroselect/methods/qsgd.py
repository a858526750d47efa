from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, compress

ENTRY = Entry(
    Method("qsgd", compress=compress.QSGD(levels=7), weigh=aggregate.Equal()),
    family="compression",
    summary="four bits per coordinate, rounded at random",
    paper='Alistarh, Grubic, Li, Tomioka, Vojnović, "QSGD: Communication-efficient SGD via gradient quantization and encoding", NeurIPS 2017',
    leaves_out="the gradient of each single step: what a client sends is the update of all its steps in a round",
)
