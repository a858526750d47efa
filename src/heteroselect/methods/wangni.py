from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, allocate, compress

ENTRY = Entry(
    Method("wangni", allocate=allocate.UniformShare(), compress=compress.Wangni(), weigh=aggregate.Equal()),
    family="compression",
    summary="random coordinates, by chances of low variance",
    paper='Wangni, Wang, Liu, Zhang, "Gradient sparsification for communication-efficient distributed optimization", NeurIPS 2018',
)
