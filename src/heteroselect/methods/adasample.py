"""Clients never selected count as average."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, select

ENTRY = Entry(
    Method("adasample", select=select.AdaSample(), weigh=aggregate.ByShare()),
    family="selection",
    summary="draws that reach the target soonest",
    paper='Luo, Xiao, Wang, Huang, Tassiulas, "Tackling system and statistical heterogeneity for federated learning with adaptive client sampling", INFOCOM 2022',
    leaves_out="the estimate of β/α from two short runs (uniform draws and q = p, which are the same where clients have equally many examples): `method.select.ratio` is 0 unless it is set, and q ∝ pG/√t",
)
