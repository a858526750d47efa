"""signSGD with majority vote: each coordinate goes one fixed step the way most clients want it to.

The step is `method.server_optimizer.rate`. It starts slowly: above 80 % on MNIST after 10 rounds with a step of 0.01.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal, Majority
from heteroselect.parts.compress import Sign
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("signsgd-majority", compress=Sign("step"), weigh=Equal(), server_optimizer=Majority(rate=0.01)),
    summary="each coordinate goes one fixed step the way most clients want it to",
    paper='Bernstein, Zhao, Azizzadenesheli, Anandkumar, "signSGD with majority vote is communication efficient and fault tolerant", ICLR 2019',
    leaves_out="one bit downwards, which method.downlink.kind=steps with coder stc (all signs, one length) adds",
)
