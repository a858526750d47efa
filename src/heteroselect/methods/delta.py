"""DELTA: clients drawn by how far their updates are from the mean, and weighed by one over that chance.

Wang, Xu, Xu, Xiang, Chen, Ding, Wang, "DELTA: Diverse client sampling for fasting federated learning", NeurIPS 2023.
Clients do not report the variance of their mini-batches, which the rule would weigh by 1/(4H): it counts as nought.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.delta import Delta
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {**parts.PLAIN, "method.aggregate.weights": "share"}


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=parts.tuned(Delta(), settings), needs=frozenset({"uploads"}))
