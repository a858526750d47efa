"""Strata are made of the last uploads, and long updates are preferred to short ones. Clients never selected come first."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, select

ENTRY = Entry(
    Method("fedstas", select=select.FedSTaS(), weigh=aggregate.ByShare()),
    family="selection",
    summary="strata of alike updates, more of diverse strata",
    paper='Slessor, Kong, Tang, Than, Kong, "FedSTaS: Client stratification and client level sampling for efficient federated learning", 2024',
    leaves_out="a round in which all send a gradient; the sampling of examples at the clients under local differential privacy; and the squeezing of gradients, as uploads are there anyway",
)
