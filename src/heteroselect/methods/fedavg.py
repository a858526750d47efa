"""FedAvg: uniform clients, SGD, everything sent, weighed by data. It is what `Method()` is.

`fedavg-device-steps` is the control of methods that let every device take as many steps as it can (fednova, lean): all
of the difference to it is what they do beside that.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.train import DeviceSteps
from heteroselect.round.method import Method

PAPER = 'McMahan, Moore, Ramage, Hampson, Agüera y Arcas, "Communication-efficient learning of deep networks from decentralized data", AISTATS 2017'

ENTRIES = (
    Entry(
        Method(),
        summary="uniform clients, SGD, everything sent, weighed by data",
        paper=PAPER,
        leaves_out="epochs of plain SGD: clients take a number of steps, with the momentum of HeteRo-Select's solver",
    ),
    Entry(
        Method("fedavg-device-steps", local_steps=DeviceSteps()),
        summary="FedAvg with as many steps as each device can (a control of fednova and lean)",
        paper="our own control; after FedAvg (McMahan et al., AISTATS 2017)",
        year=2026,
    ),
)
