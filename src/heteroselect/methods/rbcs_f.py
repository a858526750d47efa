"""RBCS-F: fast cohorts, with a rate of participation that everybody is guaranteed.

V weighs seconds against turns and depends on the world; the authors have 10 to 500 in theirs.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.select import RBCSF
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("rbcs-f", select=RBCSF()),
    summary="fast cohorts, with a rate of participation that everybody is guaranteed",
    paper='Huang, Lin, Wu, He, Li, Zomaya, "An efficiency-boosting client selection scheme for federated learning with fairness guarantee", IEEE TPDS 2021',
    leaves_out="β as a number: it is given as a part of m/K",
)
