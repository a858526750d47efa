"""OptRate: one density for all, adapted round by round to where it loses least.

Reverse water-filling of a budget of traffic over the rounds, reconstructed from the abstract (arXiv 2112.06694).
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.allocate import OptRate
from heteroselect.parts.compress import TopK
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("optrate", allocate=OptRate(), compress=TopK()),
    summary="one density for all, adapted round by round to where it loses least",
    paper='Cui, Su, Zhou, Liu, "Optimal rate adaption in federated learning with compressed communications", INFOCOM 2022',
    leaves_out="its quantiser: top-κ without a memory, as in the HeteRo-Select paper",
    reconstruction=True,
)
