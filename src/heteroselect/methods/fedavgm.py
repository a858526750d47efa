"""FedAvgM: FedAvg with momentum at the server."""

from heteroselect.aggregate import ServerMomentum
from heteroselect.method import Method
from heteroselect.methods.entry import Entry

ENTRY = Entry(
    Method("fedavgm", server=ServerMomentum(0.9)),
    summary="FedAvg with momentum at the server",
    paper='Hsu, Qi, Brown, "Measuring the effects of non-identical data distribution for federated visual classification", 2019',
)
