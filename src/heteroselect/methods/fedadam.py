"""FedAdam: an adaptive step at the server, without a correction of its bias (as in the paper)."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Adaptive
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fedadam", server_optimizer=Adaptive("adam", rate=0.03)),
    summary="an adaptive step at the server",
    paper='Reddi, Charles, Zaheer, Garrett, Rush, Konečný, Kumar, McMahan, "Adaptive federated optimization", ICLR 2021',
)
