"""The second part of FedACG, a penalty on leaving the starting point, is `method.solver.proximal`. Clients have no
momentum of their own: without it 50 steps of rate η reach 50η and not 410η, so that the rate is higher than that of
other methods.
"""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, train

ENTRY = Entry(
    Method(
        "fedacg",
        lr=train.SharedRate(start=0.2),
        solver=train.SGD(momentum=0.0, proximal=0.002),
        server_optimizer=aggregate.LookAhead(0.85),
    ),
    family="optimisation",
    summary="clients start where server momentum leads",
    paper='Kim, Kim, Han, "Communication-efficient federated learning with accelerated client gradient", CVPR 2024',
)
