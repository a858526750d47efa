"""Momentum of 0.9 makes steps in one direction up to ten times as long; at the clients it would do so once more."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, train

ENTRY = Entry(
    Method("fedavgm", solver=train.SGD(momentum=0.0), server_optimizer=aggregate.ServerMomentum(0.9)),
    family="optimisation",
    summary="momentum at the server, none at the clients",
    paper='Hsu, Qi, Brown, "Measuring the effects of non-identical data distribution for federated visual classification", 2019',
)
