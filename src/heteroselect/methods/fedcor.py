"""A random cohort after the warm-up is a round like any other; the authors train it beside the run and throw it away."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, select

ENTRY = Entry(
    Method("fedcor", select=select.FedCor(), weigh=aggregate.Equal()),
    family="selection",
    summary="clients whose loss tells most about all losses",
    paper='Tang, Ning, Wang, Sun, Wang, Li, Chen, "FedCor: Correlation-based active client selection strategy for heterogeneous federated learning", CVPR 2022',
    leaves_out="the leave-one-out likelihood, other kernels than the linear one, and ε-greedy draws",
)
