"""The server's vector goes down with the model; the clients' need not come up, because the server can compute them from
what was sent. Plain SGD at the clients: with a momentum the control variates are not mean gradients.
"""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, train

ENTRY = Entry(
    Method("scaffold", lr=train.SharedRate(start=0.2), solver=train.Scaffold(clip=10.0), weigh=aggregate.Equal()),
    family="optimisation",
    summary="control variates against client drift",
    paper='Karimireddy, Kale, Mohri, Reddi, Stich, Suresh, "SCAFFOLD: Stochastic controlled averaging for federated learning", ICML 2020',
    leaves_out="option I, a full gradient per client; this is option II",
)
