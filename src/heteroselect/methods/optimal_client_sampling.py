"""Optimal client sampling: a pool of clients trains, and those with long updates are likelier to send theirs.

More clients work for each round than send; what is saved is the uplink. The paper's text lets all of them train
(`method.select.pool=0`), its experiments a pool of 32.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import ByShare
from heteroselect.parts.select import OptimalSampling, Pool
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("optimal-client-sampling", select=Pool(), second_selection=OptimalSampling(), weigh=ByShare()),
    summary="a pool of clients trains, and those with long updates are likelier to send theirs",
    paper='Chen, Horváth, Richtárik, "Optimal client sampling for federated learning", TMLR 2022',
    leaves_out="training of all clients (`method.select.pool` is 0), as in its experiments",
)
