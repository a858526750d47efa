"""More clients work for each round than send; what is saved is the uplink."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, select

ENTRY = Entry(
    Method(
        "optimal-client-sampling",
        select=select.Pool(),
        second_selection=select.OptimalSampling(),
        weigh=aggregate.ByShare(),
    ),
    family="selection",
    summary="a pool trains, long updates are likelier sent",
    paper='Chen, Horváth, Richtárik, "Optimal client sampling for federated learning", TMLR 2022',
    leaves_out="training of all clients (`method.select.pool` is 0), as in its experiments",
)
