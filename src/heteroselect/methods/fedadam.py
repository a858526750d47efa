"""The bias of the moments is not corrected, as in the paper."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate

PAPER = 'Reddi, Charles, Zaheer, Garrett, Rush, Konečný, Kumar, McMahan, "Adaptive federated optimization", ICLR 2021'

FEDADAM = Entry(
    Method("fedadam", server_optimizer=aggregate.Adaptive("adam", rate=0.03)),
    family="optimisation",
    summary="an adaptive step at the server",
    paper=PAPER,
)
FEDYOGI = Entry(
    Method("fedyogi", server_optimizer=aggregate.Adaptive("yogi", rate=0.03)),
    family="optimisation",
    summary="FedAdam with a slower second moment",
    paper=PAPER,
)
