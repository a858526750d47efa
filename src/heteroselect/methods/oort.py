from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, select

ENTRY = Entry(
    Method("oort", select=select.Oort(), weigh=aggregate.Equal()),
    family="selection",
    summary="high training loss, high speed, and newcomers",
    paper='Lai, Zhu, Madhyastha, Chowdhury, "Oort: Efficient federated learning via guided participant selection", OSDI 2021',
    leaves_out="over-commitment, unless `method.select.overcommit` is 1.3; as in the released code, nobody is left out for "
    "having been picked more than ten times (`method.select.tired`)",
)
