"""`fedavg-device-steps` is the control of methods that let every device take as many steps as it can (fednova, lean): all
of the difference to it is what they do beside that.
"""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import train

FEDAVG = Entry(
    Method(),
    family="baseline",
    summary="uniform clients, SGD, everything sent",
    paper='McMahan, Moore, Ramage, Hampson, Agüera y Arcas, "Communication-efficient learning of deep networks from decentralized data", AISTATS 2017',
    leaves_out="epochs of plain SGD: clients take a number of steps, with the momentum of HeteRo-Select's solver",
)
DEVICE_STEPS = Entry(
    Method("fedavg-device-steps", local_steps=train.DeviceSteps()),
    family="own",
    summary="FedAvg, as many steps as each device can",
    paper="our own control; after FedAvg (McMahan et al., AISTATS 2017)",
    year=2026,
)
