"""DRIVE with FedACG's look-ahead, plain SGD, a uniform draw and a plain mean: nothing is scored, nobody has to be asked,
and clients remember nothing. The idea: the mean of the cohort's updates matters, not each one. An unbiased bit per
coordinate has an error that falls with the number of clients; the largest coordinates alone leave out what all clients
have a little of. 17 steps of a device of median speed are about five seconds in the paper's world.

`fedavg-lean-recipe` is the same without the compression: all of lean's difference to it is what the single bit does.
"""

from dataclasses import replace

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, allocate, compress, train

LEAN = Entry(
    Method(
        "lean",
        allocate=allocate.UniformShare(average=1.0),
        lr=train.SharedRate(start=0.2, decay=1.0),
        local_steps=train.DeviceSteps(),
        solver=train.SGD(steps=17, momentum=0.0),
        compress=compress.Drive(),
        weigh=aggregate.Equal(),
        server_optimizer=aggregate.LookAhead(0.8),
    ),
    family="own",
    summary="equal times, look-ahead, one unbiased bit",
    paper="our own; after DRIVE (Vargaftik et al., NeurIPS 2021) and FedACG (Kim et al., CVPR 2024)",
    year=2026,
)
RECIPE = replace(
    LEAN,
    method=replace(LEAN.method, name="fedavg-lean-recipe", allocate=allocate.All(), compress=compress.Everything()),
    summary="lean without its compression (a control)",
    paper="our own control; after FedAvg (McMahan et al., AISTATS 2017) and FedACG (Kim et al., CVPR 2024)",
)
