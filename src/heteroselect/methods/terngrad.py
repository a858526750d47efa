"""TernGrad is without bias but for its clipping."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, compress

ENTRY = Entry(
    Method("terngrad", compress=compress.TernGrad(), weigh=aggregate.Equal()),
    family="compression",
    summary="each coordinate as −s, 0 or +s at random",
    paper='Wen, Xu, Yan, Wu, Wang, Chen, Li, "TernGrad: Ternary gradients to reduce communication in distributed deep learning", NeurIPS 2017',
    leaves_out="scales shared by all clients, and a last layer that is sent whole",
)
