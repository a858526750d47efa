"""Deep gradient compression: one coordinate in a hundred, momentum corrected and masked, with a warm-up.

A round takes the place of a step; the warm-up is five rounds. The momentum of 0.9 grows stale while a client is not
selected.
"""

from heteroselect.aggregate import Equal
from heteroselect.allocate import UniformShare
from heteroselect.compress import MomentumMemory, TopK
from heteroselect.method import Method
from heteroselect.methods.entry import Entry

ENTRY = Entry(
    Method(
        "dgc",
        allocate=UniformShare(average=0.01, warmup="ramp", warmup_rounds=5),
        memory=MomentumMemory(),
        compress=TopK(),
        weigh=Equal(),
    ),
    summary="one coordinate in a hundred, momentum corrected and masked, with a warm-up",
    paper='Lin, Han, Mao, Wang, Dally, "Deep gradient compression: Reducing the communication bandwidth for distributed training", ICLR 2018',
    leaves_out="gradient clipping at the server",
)
