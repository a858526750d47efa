"""Lean: devices work for equal times, start where the momentum leads and send an unbiased bit (our own).

DRIVE with FedACG's look-ahead, plain SGD, a uniform draw and a plain mean: nothing is scored, nobody has to be asked,
and clients remember nothing. The idea: the mean of the cohort's updates matters, not each one. An unbiased bit per
coordinate has an error that falls with the number of clients; the largest coordinates alone leave out what all clients
have a little of. 17 steps of a device of median speed are about five seconds in the paper's world.

`fedavg-lean-recipe` is the same without the compression: all of lean's difference to it is what the single bit does.
"""

from dataclasses import replace

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal, LookAhead
from heteroselect.parts.allocate import All, UniformShare
from heteroselect.parts.compress import Drive, Everything
from heteroselect.parts.train import SGD, DeviceSteps, SharedRate
from heteroselect.round.method import Method

LEAN = Method(
    "lean",
    allocate=UniformShare(average=1.0),
    lr=SharedRate(start=0.2, decay=1.0),
    local_steps=DeviceSteps(),
    solver=SGD(steps=17, momentum=0.0),
    compress=Drive(),
    weigh=Equal(),
    server_optimizer=LookAhead(0.8),
)

ENTRIES = (
    Entry(
        LEAN,
        summary="equal working times, look-ahead momentum and one unbiased bit per coordinate (our own)",
        paper="our own; after DRIVE (Vargaftik et al., NeurIPS 2021) and FedACG (Kim et al., CVPR 2024)",
        year=2026,
    ),
    Entry(
        replace(LEAN, name="fedavg-lean-recipe", allocate=All(), compress=Everything()),
        summary="FedAvg with the rate, the steps and the look-ahead of lean, and nothing compressed (a control of lean)",
        paper="our own control; after FedAvg (McMahan et al., AISTATS 2017) and FedACG (Kim et al., CVPR 2024)",
        year=2026,
    ),
)
