"""QSGD: uniform clients, each coordinate rounded at random to one of seven levels of its bucket's norm, or to zero."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.compress import QSGD
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("qsgd", compress=QSGD(levels=7), weigh=Equal()),
    summary="each coordinate in four bits, rounded at random without bias",
    paper='Alistarh, Grubic, Li, Tomioka, Vojnović, "QSGD: Communication-efficient SGD via gradient quantization and encoding", NeurIPS 2017',
    leaves_out="the gradient of each single step: what a client sends is the update of all its steps in a round",
)
