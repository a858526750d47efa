"""Weights are data sizes, as in the authors' code. The cluster sizes of the paper's analysis are `method.weigh.kind=share`:
they give nearly all weight to one client, because updates of many lie closest to the one that moved least.
"""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import select

ENTRY = Entry(
    Method("divfl", select=select.DivFL()),
    family="selection",
    summary="clients whose updates best stand for all others",
    paper='Balakrishnan, Li, Zhou, Himayat, Smith, Bilmes, "Diverse client selection for federated learning via submodular maximization", ICLR 2022',
    leaves_out="the first round in which all clients send a gradient: clients never selected come first",
)
