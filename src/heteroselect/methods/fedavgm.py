"""FedAvgM: FedAvg with momentum at the server, and none at the clients.

Both follow the authors: 0.9 at the server makes steps in one direction up to ten times as long, and a local momentum
of 0.9 would do so once more.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import ServerMomentum
from heteroselect.parts.train import SGD
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fedavgm", solver=SGD(momentum=0.0), server_optimizer=ServerMomentum(0.9)),
    summary="FedAvg with momentum at the server, and none at the clients",
    paper='Hsu, Qi, Brown, "Measuring the effects of non-identical data distribution for federated visual classification", 2019',
)
