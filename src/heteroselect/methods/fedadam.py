"""FedAdam does not correct the bias of its moments, as in the paper."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate

ENTRY = Entry(
    Method("fedadam", server_optimizer=aggregate.Adaptive("adam", rate=0.03)),
    family="optimisation",
    summary="an adaptive step at the server",
    paper='Reddi, Charles, Zaheer, Garrett, Rush, Konečný, Kumar, McMahan, "Adaptive federated optimization", ICLR 2021',
)
