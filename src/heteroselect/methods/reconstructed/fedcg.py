"""Facility location decides who, and a linear program, solved exactly by bisection, how much, one after the other until
they agree (abstract: arXiv 2212.09483). Clients never selected come first. The paper's weights would be
`method.weigh.kind=share`: they put nearly all weight on one client, and cost several points on MNIST.
"""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import allocate, compress, select

ENTRY = Entry(
    Method("fedcg", select=select.FedCG(), allocate=allocate.FedCG(), compress=compress.TopK()),
    family="joint",
    summary="representatives, compressed to fit their links",
    paper='Jiang, Xu, Xu, Wang, Wang, Qian, "Heterogeneity-aware federated learning with adaptive client selection and '
    'gradient compression", INFOCOM 2023',
    leaves_out="weights by the number of clients that each one stands for: data sizes weigh",
)
