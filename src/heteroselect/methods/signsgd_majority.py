"""The step is `method.server_optimizer.rate`. It starts slowly: above 80 % on MNIST after 10 rounds with 0.01."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, compress

ENTRY = Entry(
    Method(
        "signsgd-majority",
        compress=compress.Sign("step"),
        weigh=aggregate.Equal(),
        server_optimizer=aggregate.Majority(rate=0.01),
    ),
    family="compression",
    summary="signs are sent, and the majority is the step",
    paper='Bernstein, Zhao, Azizzadenesheli, Anandkumar, "signSGD with majority vote is communication efficient and fault tolerant", ICLR 2019',
    leaves_out="one bit downwards, which method.downlink.kind=steps with coder stc (all signs, one length) adds",
)
