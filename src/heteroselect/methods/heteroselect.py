"""HeteRo-Select: one informativeness score decides who takes part, how much each sends, and how much it counts.

`heteroselect` is the paper's text with its recommended shared learning rate; `heteroselect-as-run` has the settings
behind the authors' logs and Table I.
"""

from dataclasses import replace

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import ByScore, Calibration, ServerMomentum
from heteroselect.parts.allocate import ScoreShare
from heteroselect.parts.compress import Curvature, ErrorMemory
from heteroselect.parts.score import Informativeness
from heteroselect.parts.select import Softmax
from heteroselect.parts.train import SGD, ScoreRate
from heteroselect.round.method import Method

PAPER = 'Masud, Jahin, Hasan, "HeteRo-Select: Informativeness as the Participation Driver in Heterogeneous Federated Learning"'

HETEROSELECT = Method(
    "heteroselect",
    score=Informativeness(),
    select=Softmax(),
    allocate=ScoreShare(),
    solver=SGD(proximal=0.1),
    error_feedback=ErrorMemory(),
    compress=Curvature(),
    weigh=ByScore(),
    server_optimizer=ServerMomentum(),
)

AS_RUN = replace(
    HETEROSELECT,
    name="heteroselect-as-run",
    score=Informativeness(augmented=True, constant=1.0, fairness_start=1.0, raw_staleness=True),
    allocate=ScoreShare(warmup="allocated"),
    lr=ScoreRate(),
    compress=Curvature(rounding="floor"),
    calibrate=Calibration(split="in-turn"),
)

ENTRIES = (
    Entry(HETEROSELECT, summary="the paper's text, with its recommended shared rate", paper=PAPER, year=2025),
    Entry(
        AS_RUN,
        summary="what produced the authors' logs and Table I",
        paper=PAPER,
        year=2025,
        settings={"data.variant": "authors"},
    ),
)
