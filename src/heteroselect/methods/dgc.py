"""Deep gradient compression: one coordinate in a hundred, momentum corrected and masked, with a warm-up.

A round takes the place of a step. The momentum of 0.9 is that of the memory alone: the local SGD has none.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.allocate import UniformShare
from heteroselect.parts.compress import MomentumMemory, TopK
from heteroselect.parts.train import SGD
from heteroselect.round.method import Method

ENTRY = Entry(
    Method(
        "dgc",
        allocate=UniformShare(average=0.01, warmup="ramp", warmup_rounds=5),
        solver=SGD(momentum=0.0),
        error_feedback=MomentumMemory(),
        compress=TopK(),
        weigh=Equal(),
    ),
    summary="one coordinate in a hundred, momentum corrected and masked, with a warm-up",
    paper='Lin, Han, Mao, Wang, Dally, "Deep gradient compression: Reducing the communication bandwidth for distributed training", ICLR 2018',
    leaves_out="clipping by the number of workers, whole small tensors, and a share as low as 0.001: it is 0.01. A round "
    "takes the place of a step, so that momentum grows stale while a client is not selected",
)
