"""HeteRo-Select: one informativeness score decides who speaks, how much, and how loudly.

Masud, Jahin, Hasan, "HeteRo-Select: Informativeness as the Participation Driver in Heterogeneous Federated
Learning". `heteroselect` is the paper's text with its recommended shared learning rate. `heteroselect-as-run`
is what produced the authors' logs and Table I: the same parts with the settings below.
"""

from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.settings import MethodSettings

PAPER = "Masud, Jahin, Hasan: HeteRo-Select"

AS_RUN: dict[str, Any] = {
    "data.variant": "authors",
    "method.score.augmented": True,
    "method.score.constant": 1.0,
    "method.score.fairness_start": 1.0,
    "method.score.raw_staleness": True,
    "method.allocate.warmup": "allocated",
    "method.train.rate_rule": "score",
    "method.compress.rounding": "floor",
    "method.aggregate.calibration_split": "in-turn",
}


def build(settings: MethodSettings) -> Method:
    """Every part as the settings say, whose defaults are the paper's."""
    return parts.assemble(settings)
