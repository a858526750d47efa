"""Lean: devices work for equal times, start where the momentum leads and send an unbiased bit (our own).

DRIVE with FedACG's look-ahead, plain SGD, a uniform draw and a plain mean: nothing is scored, nobody has to be asked,
and clients remember nothing. The idea: the mean of the cohort's updates matters, not each one. An unbiased bit per
coordinate has an error that falls with the number of clients; the largest coordinates alone leave out what all clients
have a little of. 17 steps of a device of median speed are about five seconds in the paper's world.
"""

from heteroselect.aggregate import Equal, LookAhead
from heteroselect.allocate import UniformShare
from heteroselect.compress import Drive
from heteroselect.method import Method
from heteroselect.methods.entry import Entry
from heteroselect.train import SGD, DeviceSteps, SharedRate

ENTRY = Entry(
    Method(
        "lean",
        allocate=UniformShare(average=1.0),
        rate=SharedRate(start=0.2, decay=1.0),
        work=DeviceSteps(),
        train=SGD(steps=17, momentum=0.0),
        compress=Drive(),
        weigh=Equal(),
        server=LookAhead(0.8),
    ),
    summary="equal working times, look-ahead momentum and one unbiased bit per coordinate (our own)",
    paper="our own; after DRIVE (Vargaftik et al., NeurIPS 2021) and FedACG (Kim et al., CVPR 2024)",
    year=2026,
)
