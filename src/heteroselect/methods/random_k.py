"""Random-κ with memory: a random fifth of the coordinates, and an error memory that keeps the rest."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.allocate import UniformShare
from heteroselect.parts.compress import ErrorMemory, RandomK
from heteroselect.round.method import Method

ENTRY = Entry(
    Method(
        "random-k",
        allocate=UniformShare(),
        error_feedback=ErrorMemory("static", static=1.0),
        compress=RandomK(),
        weigh=Equal(),
    ),
    summary="a random part of the coordinates, and an error memory that keeps the rest",
    paper='Stich, Cordonnier, Jaggi, "Sparsified SGD with memory", NeurIPS 2018',
    leaves_out="the average of the models of all rounds",
)
