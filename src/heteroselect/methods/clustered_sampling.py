"""Clients are alike by their last updates, or by size (`method.select.by`)."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, select

ENTRY = Entry(
    Method("clustered-sampling", select=select.Clustered(), weigh=aggregate.ByShare()),
    family="selection",
    summary="one client from each group of similar ones",
    paper='Fraboni, Vidal, Kameni, Lorenzi, "Clustered sampling: Low-variance and improved representativity for clients selection in federated learning", ICML 2021',
    leaves_out="distances other than the angle between updates",
)
