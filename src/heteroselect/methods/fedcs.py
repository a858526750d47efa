"""FedCS: as many clients as fit into a deadline, the quickest first.

The deadline of the paper, three minutes, leaves nobody out in the presets here: the default is one that four in ten
clients meet.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.select import FedCS
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fedcs", select=FedCS()),
    summary="as many clients as fit into a deadline, the quickest first",
    paper='Nishio, Yonetani, "Client selection for federated learning with heterogeneous resources in mobile edge", ICC 2019',
    leaves_out="the deadline of 180 s, which never binds here: by default four in ten clients meet it "
    "(`method.select.quantile`); and one link for all uploads: they run at once, and twice as many candidates are asked as "
    "there are places",
)
