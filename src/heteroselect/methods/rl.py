"""RL selection: a policy that learns during the run whom to draw.

The smallest policy of the kind that the paper cites as Zhan et al. 2022, whose text was not at hand: a proposal of
ours.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.select import Reinforced
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("rl", select=Reinforced()),
    summary="a policy that learns during the run whom to draw",
    paper='our own proposal for the "RL policies" that the paper cites as Zhan et al. 2022',
    leaves_out="a network in the place of the linear score, accuracy as a reward, and training on other runs before",
    reconstruction=True,
)
