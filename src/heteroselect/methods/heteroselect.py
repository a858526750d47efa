"""HeteRo-Select decides by one informativeness score who takes part, how much each sends, and how much it counts.

`heteroselect` is the paper's text with its recommended shared learning rate; `heteroselect-as-run` has the settings
behind the authors' logs and Table I.
"""

from dataclasses import replace

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, allocate, compress, score, select, train

PAPER = 'Masud, Jahin, Hasan, "HeteRo-Select: Informativeness as the Participation Driver in Heterogeneous Federated Learning"'

HETEROSELECT = Method(
    "heteroselect",
    score=score.Informativeness(),
    select=select.Softmax(),
    allocate=allocate.ScoreShare(),
    solver=train.SGD(proximal=0.1),
    error_feedback=compress.ErrorMemory(),
    compress=compress.Curvature(),
    weigh=aggregate.ByScore(),
    server_optimizer=aggregate.ServerMomentum(),
)

AS_RUN = replace(
    HETEROSELECT,
    name="heteroselect-as-run",
    score=score.Informativeness(augmented=True, constant=1.0, fairness_start=1.0, raw_staleness=True),
    allocate=allocate.ScoreShare(warmup="allocated"),
    lr=train.ScoreRate(),
    compress=compress.Curvature(rounding="floor"),
    calibrate=aggregate.Calibration(split="in-turn"),
)

ENTRIES = (
    Entry(HETEROSELECT, "joint", "one score for who, how much and what weight", paper=PAPER, year=2025),
    Entry(
        AS_RUN,
        family="joint",
        summary="what produced the authors' logs and Table I",
        paper=PAPER,
        year=2025,
        settings={"data.variant": "authors"},
    ),
)
