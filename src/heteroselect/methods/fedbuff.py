"""Both methods keep as many clients at work as a round would select. Constants are those of the papers: FedBuff's step is
η/K·Σ (1 + τ)^−½ Δ with η = 1, and its K is the one that differs; FedAsync mixes the model of each answer into its own
at the rate α·(1 + τ)^−a, with α = 0.6 (the paper also tries 0.9), a = ½ and a proximal term of 0.005, as on CIFAR-10.
"""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, train

FEDBUFF = Entry(
    Method("fedbuff", async_mode=aggregate.Buffer(), weigh=aggregate.Equal()),
    family="asynchronous",
    summary="a step after every k answers, stale ones less",
    paper='Nguyen, Malik, Zhan, Yousefpour, Rabbat, Malek, Huba, "Federated learning with buffered asynchronous aggregation", AISTATS 2022',
    leaves_out="secure aggregation of the buffer and its differential privacy; k is 5 beside ten clients at work, "
    "where the paper has 10 beside hundreds or more",
)
FEDASYNC = Entry(
    Method(
        "fedasync",
        solver=train.SGD(proximal=0.005),
        async_mode=aggregate.Buffer(size=1, mixes="models"),
        weigh=aggregate.Equal(),
        server_optimizer=aggregate.ServerSGD(rate=0.6),
    ),
    family="asynchronous",
    summary="a step after every answer, less the staler",
    paper='Xie, Koyejo, Gupta, "Asynchronous federated optimization", 2019',
    leaves_out="the hinge and the constant discount, a largest staleness, and a mixing rate that falls during the run",
)
