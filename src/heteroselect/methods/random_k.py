"""Random-κ sends a random fifth of the coordinates, and an error memory keeps the rest."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, allocate, compress

ENTRY = Entry(
    Method(
        "random-k",
        allocate=allocate.UniformShare(),
        error_feedback=compress.ErrorMemory("static", static=1.0),
        compress=compress.RandomK(),
        weigh=aggregate.Equal(),
    ),
    family="compression",
    summary="random coordinates, error memory",
    paper='Stich, Cordonnier, Jaggi, "Sparsified SGD with memory", NeurIPS 2018',
    leaves_out="the average of the models of all rounds",
)
