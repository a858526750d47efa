from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate

ENTRY = Entry(
    Method("fedyogi", server_optimizer=aggregate.Adaptive("yogi", rate=0.03)),
    family="optimisation",
    summary="FedAdam with a slower second moment",
    paper='Reddi, Charles, Zaheer, Garrett, Rush, Konečný, Kumar, McMahan, "Adaptive federated optimization", ICLR 2021',
)
