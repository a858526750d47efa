"""FedACG: FedAvg whose clients start from where the server's momentum is about to carry the model.

Its second part, a penalty on leaving the starting point, is `method.solver.proximal`. Clients have no momentum of their
own: without it 50 steps of rate η reach 50η and not 410η, so that the rate is higher than that of other methods.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import LookAhead
from heteroselect.parts.train import SGD, SharedRate
from heteroselect.round.method import Method

ENTRY = Entry(
    Method(
        "fedacg",
        lr=SharedRate(start=0.2),
        solver=SGD(momentum=0.0, proximal=0.002),
        server_optimizer=LookAhead(0.85),
    ),
    summary="clients start from where the server's momentum is about to carry the model",
    paper='Kim, Kim, Han, "Communication-efficient federated learning with accelerated client gradient", CVPR 2024',
)
