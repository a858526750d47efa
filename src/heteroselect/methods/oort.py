"""Oort: clients by the loss they trained with and the time they took, with room for newcomers."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.select import Oort
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("oort", select=Oort(), weigh=Equal()),
    summary="clients by the loss they trained with and the time they took, with room for newcomers",
    paper='Lai, Zhu, Madhyastha, Chowdhury, "Oort: Efficient federated learning via guided participant selection", OSDI 2021',
    leaves_out="over-commitment, unless `method.select.overcommit` is 1.3; as in the released code, nobody is left out for "
    "having been picked more than ten times (`method.select.tired`)",
)
