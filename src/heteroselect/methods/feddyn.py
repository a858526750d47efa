"""FedDyn: the objective of each client is bent so that all of them have the global optimum in common."""

from heteroselect.aggregate import Equal
from heteroselect.method import Method
from heteroselect.methods.entry import Entry
from heteroselect.train import FedDyn, SharedRate

ENTRY = Entry(
    Method("feddyn", rate=SharedRate(start=0.2), train=FedDyn(), weigh=Equal()),
    summary="the objective of each client is bent towards the global optimum",
    paper='Acar, Zhao, Matas, Mattina, Whatmough, Saligrama, "Federated learning based on dynamic regularization", ICLR 2021',
    leaves_out="the division of α by K·p_k of the authors' code: it is one α for all",
)
