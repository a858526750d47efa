"""Optimal client sampling: everybody trains, and those with long updates are likelier to send theirs.

All clients work for each round; what is saved is the uplink.
"""

from heteroselect.aggregate import ByShare
from heteroselect.method import Method
from heteroselect.methods.entry import Entry
from heteroselect.select import Everybody, OptimalSampling

ENTRY = Entry(
    Method("optimal-client-sampling", select=Everybody(), choose=OptimalSampling(), weigh=ByShare()),
    summary="everybody trains, and those with long updates are likelier to send theirs",
    paper='Chen, Horváth, Richtárik, "Optimal client sampling for federated learning", TMLR 2022',
)
