"""FedCor: clients whose loss tells most about everybody's, by how losses have changed together.

A random cohort after the warm-up is a round like any other here; the authors train it beside the run and throw it
away.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.select import FedCor
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fedcor", select=FedCor(), weigh=Equal()),
    summary="clients whose loss tells most about everybody's, by how losses have changed together",
    paper='Tang, Ning, Wang, Sun, Wang, Li, Chen, "FedCor: Correlation-based active client selection strategy for heterogeneous federated learning", CVPR 2022',
    leaves_out="the leave-one-out likelihood, other kernels than the linear one, and ε-greedy draws",
)
