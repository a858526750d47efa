"""It starts slowly, while most clients have not taken part yet: above 80 % on MNIST after 10 rounds."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, allocate, compress

ENTRY = Entry(
    Method(
        "ef21",
        allocate=allocate.UniformShare(),
        error_feedback=compress.EF21(),
        compress=compress.TopK(),
        weigh=aggregate.OneOfAll(),
        server_optimizer=aggregate.Running(),
    ),
    family="compression",
    summary="changes to what was last sent, summed up",
    paper='Richtárik, Sokolov, Fatkhullin, "EF21: A new, simpler, theoretically better, and practically faster error feedback", NeurIPS 2021',
    leaves_out="gradients of single steps, in whose place updates stand",
)
