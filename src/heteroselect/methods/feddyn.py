"""FedDyn: the objective of each client is bent so that all of them have the global optimum in common."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.train import FedDyn, SharedRate
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("feddyn", lr=SharedRate(start=0.2), solver=FedDyn(), weigh=Equal()),
    summary="the objective of each client is bent towards the global optimum",
    paper='Acar, Zhao, Matas, Mattina, Whatmough, Saligrama, "Federated learning based on dynamic regularization", ICLR 2021',
    leaves_out="the division of α by K·p_k of the authors' code: it is one α for all",
)
