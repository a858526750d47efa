"""FedPAQ: uniform clients, updates quantised without bias (QSGD), plain mean, no memory."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.compress import QSGD
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fedpaq", compress=QSGD(levels=10), weigh=Equal()),
    summary="uniform clients, updates quantised without bias",
    paper='Reisizadeh, Mokhtari, Hassani, Jadbabaie, Pedarsani, "FedPAQ: A communication-efficient federated learning method with periodic averaging and quantization", AISTATS 2020',
)
