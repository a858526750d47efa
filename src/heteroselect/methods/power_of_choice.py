"""Power-of-choice: of d random clients the m with the highest loss.

Cho, Wang, Joshi, "Client selection in federated learning: Convergence analysis and power-of-choice selection
strategies", 2020. d is method.score.candidates; each of them fetches the model and runs it forwards.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.top import Top
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {
    **parts.PLAIN,
    "method.score.loss_weight": 1.0,
    "method.score.mode": "candidates",
    "method.score.candidates": 20,
    "method.score.candidates_by_size": True,
    "method.aggregate.weights": "uniform",
}


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=Top())
