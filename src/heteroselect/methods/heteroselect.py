"""`heteroselect` is the paper's text with its recommended shared learning rate; `heteroselect-as-run` has the settings
behind the authors' logs and Table I.
"""

from dataclasses import replace

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, allocate, compress, score, select, train

HETEROSELECT = Entry(
    Method(
        "heteroselect",
        score=score.Informativeness(),
        select=select.Softmax(),
        allocate=allocate.ScoreShare(),
        solver=train.SGD(proximal=0.1),
        error_feedback=compress.ErrorMemory(),
        compress=compress.Curvature(),
        weigh=aggregate.ByScore(),
        server_optimizer=aggregate.ServerMomentum(),
    ),
    family="joint",
    summary="one score for who, how much and what weight",
    paper='Masud, Jahin, Hasan, "HeteRo-Select: Informativeness as the Participation Driver in Heterogeneous Federated Learning"',
    year=2025,
)
AS_RUN = replace(
    HETEROSELECT,
    method=replace(
        HETEROSELECT.method,
        name="heteroselect-as-run",
        score=score.Informativeness(augmented=True, constant=1.0, fairness_start=1.0, raw_staleness=True),
        allocate=allocate.ScoreShare(warmup="allocated"),
        lr=train.ScoreRate(),
        compress=compress.Curvature(rounding="floor"),
        calibrate=aggregate.Calibration(split="in-turn"),
    ),
    summary="what produced the authors' logs and Table I",
    settings={"data.variant": "authors"},
)
