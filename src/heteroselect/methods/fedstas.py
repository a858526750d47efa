"""FedSTaS: strata of clients with alike updates, more clients from large and diverse ones, long updates rather than short.

Strata are made of the last uploads. Clients never selected come first.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import ByShare
from heteroselect.parts.select import FedSTaS
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fedstas", select=FedSTaS(), weigh=ByShare()),
    summary="strata of clients with alike updates, more clients from large and diverse ones",
    paper='Slessor, Kong, Tang, Than, Kong, "FedSTaS: Client stratification and client level sampling for efficient federated learning", 2024',
    leaves_out="a round in which all send a gradient; the sampling of examples at the clients under local differential privacy; and the squeezing of gradients, as uploads are there anyway",
)
