"""FedYogi: an adaptive step at the server whose second moment moves slowly."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Adaptive
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fedyogi", server_optimizer=Adaptive("yogi", rate=0.03)),
    summary="an adaptive step at the server whose second moment moves slowly",
    paper='Reddi, Charles, Zaheer, Garrett, Rush, Konečný, Kumar, McMahan, "Adaptive federated optimization", ICLR 2021',
)
