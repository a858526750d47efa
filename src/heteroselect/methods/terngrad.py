"""TernGrad: uniform clients, each coordinate sent as −s, 0 or +s at random, without bias but for the clipping."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.compress import TernGrad
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("terngrad", compress=TernGrad(), weigh=Equal()),
    summary="each coordinate as −s, 0 or +s at random",
    paper='Wen, Xu, Yan, Wu, Wang, Chen, Li, "TernGrad: Ternary gradients to reduce communication in distributed deep learning", NeurIPS 2017',
    leaves_out="scales shared by all clients, and a last layer that is sent whole",
)
