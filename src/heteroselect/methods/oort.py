"""Oort: clients by the loss they trained with and the time they took, with room for newcomers.

Lai, Zhu, Madhyastha, Chowdhury, "Oort: Efficient federated learning via guided participant selection", OSDI 2021.
The paper's rule; over-commitment is left out.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.oort import Oort
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {**parts.PLAIN, "method.aggregate.weights": "uniform"}


def build(settings: MethodSettings) -> Method:
    return replace(
        parts.assemble(settings), select=parts.tuned(Oort(), settings), needs=frozenset({"reports", "links"})
    )
