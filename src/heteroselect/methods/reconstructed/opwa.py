"""It is one half of the abstract, arXiv 2408.14736."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, allocate, compress

ENTRY = Entry(
    Method(
        "opwa", allocate=allocate.UniformShare(average=0.1), compress=compress.TopK(), aggregate=aggregate.Overlap()
    ),
    family="compression",
    summary="each coordinate averaged over those who sent it",
    paper='Tang, Huang, Yan, Wang, Tang, Shi, Zhou, Chu, "Bandwidth-aware and overlap-weighted compression for communication-efficient federated learning", ICPP 2024',
    leaves_out="the other half of its paper, BCRS: for every client the density with which it is done when the slowest is, and weights that follow these densities",
)
