"""The server tells with the model which tensors nobody is to send. Of a model with a single weight tensor, such as the
logistic regression on MNIST, nothing is recycled and this is FedAvg.
"""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, compress

ENTRY = Entry(
    Method("fedluar", compress=compress.Luar(), weigh=aggregate.Equal()),
    family="compression",
    summary="layers that move little repeat their last move",
    paper='Kim, Kang, Lee, "Layer-wise update aggregation with recycling for communication-efficient federated learning", NeurIPS 2025',
    leaves_out="the authors' number of recycled tensors, 12 of a ResNet20: it is half of them",
)
