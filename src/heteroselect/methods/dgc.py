"""The momentum of 0.9 is that of the memory alone: the local SGD has none."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, allocate, compress, train

ENTRY = Entry(
    Method(
        "dgc",
        allocate=allocate.UniformShare(average=0.01, warmup="ramp", warmup_rounds=5),
        solver=train.SGD(momentum=0.0),
        error_feedback=compress.MomentumMemory(),
        compress=compress.TopK(),
        weigh=aggregate.Equal(),
    ),
    family="compression",
    summary="one coordinate in 100, momentum corrected",
    paper='Lin, Han, Mao, Wang, Dally, "Deep gradient compression: Reducing the communication bandwidth for distributed training", ICLR 2018',
    leaves_out="clipping by the number of workers, whole small tensors, and a share as low as 0.001: it is 0.01. A round "
    "takes the place of a step, so that momentum grows stale while a client is not selected",
)
