"""Reverse water-filling of a budget of traffic over the rounds (abstract: arXiv 2112.06694)."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import allocate, compress

ENTRY = Entry(
    Method("optrate", allocate=allocate.OptRate(), compress=compress.TopK()),
    family="compression",
    summary="one density for all, adapted every round",
    paper='Cui, Su, Zhou, Liu, "Optimal rate adaption in federated learning with compressed communications", INFOCOM 2022',
    leaves_out="its quantiser: top-κ without a memory, as in the HeteRo-Select paper",
)
