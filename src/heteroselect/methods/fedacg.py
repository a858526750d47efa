"""FedACG: FedAvg whose clients start from where the server's momentum is about to carry the model.

Its second part, a penalty on leaving the starting point, is `method.train.proximal`.
"""

from heteroselect.aggregate import LookAhead
from heteroselect.method import Method
from heteroselect.methods.entry import Entry
from heteroselect.train import SGD

ENTRY = Entry(
    Method("fedacg", train=SGD(proximal=0.01), server=LookAhead(0.85)),
    summary="clients start from where the server's momentum is about to carry the model",
    paper='Kim, Kim, Han, "Communication-efficient federated learning with accelerated client gradient", CVPR 2024',
)
