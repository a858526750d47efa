from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, train

ENTRY = Entry(
    Method("fednova", local_steps=train.DeviceSteps(), weigh=aggregate.FedNova(momentum=0.9)),
    family="optimisation",
    summary="steps by device, updates normalised by reach",
    paper='Wang, Liu, Liang, Joshi, Poor, "Tackling the objective inconsistency problem in heterogeneous federated optimization", NeurIPS 2020',
    leaves_out="a proximal term, for which the paper has other reaches",
)
