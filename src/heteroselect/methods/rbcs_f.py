"""V weighs seconds against turns and depends on the world; the authors have 10 to 500 in theirs."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import select

ENTRY = Entry(
    Method("rbcs-f", select=select.RBCSF()),
    family="selection",
    summary="fast cohorts, a guaranteed rate for each client",
    paper='Huang, Lin, Wu, He, Li, Zomaya, "An efficiency-boosting client selection scheme for federated learning with fairness guarantee", IEEE TPDS 2021',
    leaves_out="β as a number: it is given as a part of m/K",
)
