"""EF21: clients send changes to what they last sent, and the server steps by the sum of what all clients last sent.

With partial participation. It starts slowly, while most clients have not taken part yet: above 80 % on MNIST after 10
rounds.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import OneOfAll, Running
from heteroselect.parts.allocate import UniformShare
from heteroselect.parts.compress import EF21, TopK
from heteroselect.round.method import Method

ENTRY = Entry(
    Method(
        "ef21",
        allocate=UniformShare(),
        error_feedback=EF21(),
        compress=TopK(),
        weigh=OneOfAll(),
        server_optimizer=Running(),
    ),
    summary="clients send changes to what they last sent, and the server keeps the sum",
    paper='Richtárik, Sokolov, Fatkhullin, "EF21: A new, simpler, theoretically better, and practically faster error feedback", NeurIPS 2021',
    leaves_out="gradients of single steps, in whose place updates stand",
)
