from dataclasses import replace

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, allocate, compress

MEM_SGD = Entry(
    Method(
        "mem-sgd",
        allocate=allocate.UniformShare(),
        error_feedback=compress.ErrorMemory("static", static=1.0),
        compress=compress.TopK(),
        weigh=aggregate.Equal(),
    ),
    family="compression",
    summary="the largest coordinates, error memory",
    paper='Stich, Cordonnier, Jaggi, "Sparsified SGD with memory", NeurIPS 2018',
    leaves_out="the average of the models of all rounds, and the gradient of each single step: a client sends the update of all its steps in a round",
)
RANDOM_K = replace(
    MEM_SGD,
    method=replace(MEM_SGD.method, name="random-k", compress=compress.RandomK()),
    summary="random coordinates, error memory",
    leaves_out="the average of the models of all rounds",
)
