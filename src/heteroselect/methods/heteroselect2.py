"""Each part rests on a statement that holds; docs/beyond.md has the equations, what is proved, what was tried, and when
not to use them. The weight decay works against the random walk of the coder's noise.

Devices that are faster count more, because they are drawn more often, and so do faster links. Where these hang together
with data, set `method.weigh.kind=share`, which takes both out again, at the price of more noise.
"""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, allocate, compress, select, train

ENTRY = Entry(
    Method(
        "heteroselect2",
        select=select.Balanced(speed=1.0, sketch=1024),
        allocate=allocate.Deadline(average=0.2),
        lr=train.CosineRate(start=0.2),
        local_steps=train.DeviceSteps(),
        solver=train.SGD(steps=23, momentum=0.0, decay=0.0005),
        compress=compress.Ternary(spread="energy"),
        weigh=aggregate.ByVariance(),
        server_optimizer=aggregate.LookAhead(0.8),
        model_average=aggregate.ExponentialAverage(),
    ),
    family="own",
    summary="balanced draw, bits by deadline, averaged model",
    paper="our own; after DRIVE (Vargaftik et al., NeurIPS 2021), FedACG (Kim et al., CVPR 2024) and the local pivotal method (Grafström et al., Biometrics 2012)",
    year=2026,
    # the network of the recipe, and a clock that reads payloads: the paper's counts 32 bits per value, which are not sent
    settings={"model.dropout": 0.0, "model.init": "kaiming", "world.charge": "uplink"},
)
