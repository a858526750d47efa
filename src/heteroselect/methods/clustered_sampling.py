"""Clustered sampling: one client from each of m groups of similar ones, without bias.

By similarity of the last updates, or by size (`method.select.by`).
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import ByShare
from heteroselect.parts.select import Clustered
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("clustered-sampling", select=Clustered(), weigh=ByShare()),
    summary="one client from each of m groups of similar ones, without bias",
    paper='Fraboni, Vidal, Kameni, Lorenzi, "Clustered sampling: Low-variance and improved representativity for clients selection in federated learning", ICML 2021',
    leaves_out="distances other than the angle between updates",
)
