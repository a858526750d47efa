"""Mem-SGD: uniform clients, the largest fifth of the coordinates, and an error memory that keeps the rest."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.allocate import UniformShare
from heteroselect.parts.compress import ErrorMemory, TopK
from heteroselect.round.method import Method

ENTRY = Entry(
    Method(
        "mem-sgd",
        allocate=UniformShare(),
        error_feedback=ErrorMemory("static", static=1.0),
        compress=TopK(),
        weigh=Equal(),
    ),
    summary="the largest coordinates, and an error memory that keeps the rest",
    paper='Stich, Cordonnier, Jaggi, "Sparsified SGD with memory", NeurIPS 2018',
    leaves_out="the average of the models of all rounds, and the gradient of each single step: a client sends the update of all its steps in a round",
)
