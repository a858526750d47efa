"""FedCG: representative clients, each compressed to what its link can carry.

Reconstructed from the abstract (arXiv 2212.09483): facility location for who, a linear program, solved exactly by
bisection, for how much, one after the other until they agree. Clients never selected come first. Data sizes weigh: the
number of clients that each one stands for (`method.weigh.kind=share`) puts nearly all weight on one of them, and costs
several points on MNIST.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts import allocate, select
from heteroselect.parts.compress import TopK
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fedcg", select=select.FedCG(), allocate=allocate.FedCG(), compress=TopK()),
    summary="representative clients, each compressed to what its link can carry",
    paper='Jiang, Xu, Xu, Wang, Wang, Qian, "Heterogeneity-aware federated learning with adaptive client selection and '
    'gradient compression", INFOCOM 2023',
    leaves_out="weights by the number of clients that each one stands for: data sizes weigh",
    reconstruction=True,
)
