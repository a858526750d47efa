"""SCAFFOLD: control variates take the drift out of the local steps.

The server's vector goes down with the model; the clients' need not come up, because the server can compute them from
what was sent. Plain SGD at the clients: with a momentum the control variates are not mean gradients.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.train import Scaffold, SharedRate
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("scaffold", lr=SharedRate(start=0.2), solver=Scaffold(clip=10.0), weigh=Equal()),
    summary="control variates take the drift out of the local steps",
    paper='Karimireddy, Kale, Mohri, Reddi, Stich, Suresh, "SCAFFOLD: Stochastic controlled averaging for federated learning", ICML 2020',
    leaves_out="option I, a full gradient per client; this is option II",
)
