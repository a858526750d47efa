"""FedNova: clients take as many steps as their device can, and updates are normalised by how far those reach."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import FedNova
from heteroselect.parts.train import DeviceSteps
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fednova", local_steps=DeviceSteps(), weigh=FedNova(momentum=0.9)),
    summary="as many steps as each device can, updates normalised by how far those reach",
    paper='Wang, Liu, Liang, Joshi, Poor, "Tackling the objective inconsistency problem in heterogeneous federated optimization", NeurIPS 2020',
    leaves_out="a proximal term, for which the paper has other reaches",
)
