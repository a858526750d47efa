"""FedProx: FedAvg with a pull μ towards the global model."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.train import SGD
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fedprox", solver=SGD(proximal=0.01)),
    summary="FedAvg with a pull μ towards the global model",
    paper='Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith, "Federated optimization in heterogeneous networks", MLSys 2020',
    leaves_out="work until a stated accuracy, a different amount per client: the number of steps is given",
)
