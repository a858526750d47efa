"""OPWA: a coordinate that few clients sent is averaged over those, not over all.

Reconstructed from the abstract (arXiv 2408.14736), of which it is one half.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Overlap
from heteroselect.parts.allocate import UniformShare
from heteroselect.parts.compress import TopK
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("opwa", allocate=UniformShare(average=0.1), compress=TopK(), aggregate=Overlap()),
    summary="a coordinate that few clients sent is averaged over those, not over all",
    paper='Tang, Huang, Yan, Wang, Tang, Shi, Zhou, Chu, "Bandwidth-aware and overlap-weighted compression for communication-efficient federated learning", ICPP 2024',
    leaves_out="the other half of its paper, BCRS: for every client the density with which it is done when the slowest is, and weights that follow these densities",
    reconstruction=True,
)
