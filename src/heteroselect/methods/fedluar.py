"""FedLUAR: weight tensors that move little are not sent, and move as they did the last time.

The server tells with the model which tensors nobody is to send. Of a model with a single weight tensor, such as the
logistic regression on MNIST, nothing is recycled and this is FedAvg.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.compress import Luar
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fedluar", compress=Luar(), weigh=Equal()),
    summary="weight tensors that move little are not sent, and move as they did the last time",
    paper='Kim, Kang, Lee, "Layer-wise update aggregation with recycling for communication-efficient federated learning", NeurIPS 2025',
    leaves_out="the authors' number of recycled tensors, 12 of a ResNet20: it is half of them",
)
