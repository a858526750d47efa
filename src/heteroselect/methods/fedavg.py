"""FedAvg: uniform clients, plain SGD, everything sent, weighed by data. It is what `Method()` is."""

from heteroselect.method import Method
from heteroselect.methods.entry import Entry

ENTRY = Entry(
    Method(),
    summary="uniform clients, plain SGD, everything sent, weighed by data",
    paper='McMahan, Moore, Ramage, Hampson, Agüera y Arcas, "Communication-efficient learning of deep networks from decentralized data", AISTATS 2017',
)
