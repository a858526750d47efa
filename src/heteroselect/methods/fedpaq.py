from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, compress

ENTRY = Entry(
    Method("fedpaq", compress=compress.QSGD(levels=10), weigh=aggregate.Equal()),
    family="compression",
    summary="updates quantised without bias, plain mean",
    paper='Reisizadeh, Mokhtari, Hassani, Jadbabaie, Pedarsani, "FedPAQ: A communication-efficient federated learning method with periodic averaging and quantization", AISTATS 2020',
)
