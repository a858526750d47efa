"""FedCS: as many clients as fit into a deadline, the quickest first.

Twice as many candidates are asked as there are places, and with a link for each client all uploads run at once.
"""

from heteroselect.method import Method
from heteroselect.methods.entry import Entry
from heteroselect.select import FedCS

ENTRY = Entry(
    Method("fedcs", select=FedCS()),
    summary="as many clients as fit into a deadline, the quickest first",
    paper='Nishio, Yonetani, "Client selection for federated learning with heterogeneous resources in mobile edge", ICC 2019',
)
