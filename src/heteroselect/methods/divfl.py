"""DivFL: the m clients whose updates best stand for those of everybody.

Clients never selected come first, in the place of the paper's round in which all send a gradient; weights are the
paper's cluster sizes.
"""

from heteroselect.aggregate import ByShare
from heteroselect.method import Method
from heteroselect.methods.entry import Entry
from heteroselect.select import DivFL

ENTRY = Entry(
    Method("divfl", select=DivFL(), weigh=ByShare()),
    summary="the m clients whose updates best stand for those of everybody",
    paper='Balakrishnan, Li, Zhou, Himayat, Smith, Bilmes, "Diverse client selection for federated learning via submodular maximization", ICLR 2022',
    leaves_out="the first round in which all clients send a gradient",
)
