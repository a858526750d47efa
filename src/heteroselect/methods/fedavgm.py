"""FedAvgM: FedAvg with momentum at the server, and none at the clients."""

from heteroselect.aggregate import ServerMomentum
from heteroselect.method import Method
from heteroselect.methods.entry import Entry
from heteroselect.train import SGD

ENTRY = Entry(
    Method("fedavgm", train=SGD(momentum=0.0), server=ServerMomentum(0.9)),
    summary="FedAvg with momentum at the server, and none at the clients",
    paper='Hsu, Qi, Brown, "Measuring the effects of non-identical data distribution for federated visual classification", 2019',
)
