"""The smallest policy of its kind, and a proposal of ours: the text of that work was not at hand."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import select

ENTRY = Entry(
    Method("rl", select=select.Reinforced()),
    family="selection",
    summary="a policy that learns whom to draw",
    paper='our own proposal for the "RL policies" that the paper cites as Zhan et al. 2022',
    leaves_out="a network in the place of the linear score, accuracy as a reward, and training on other runs before",
)
