"""AdaSample: clients drawn with the probabilities that reach the target soonest, by data, update length and speed.

Luo, Xiao, Wang, Huang, Tassiulas, "Tackling system and statistical heterogeneity for federated learning with
adaptive client sampling", INFOCOM 2022. Clients never heard count as average.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.adasample import AdaSample
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {**parts.PLAIN, "method.aggregate.weights": "share"}


def build(settings: MethodSettings) -> Method:
    return replace(
        parts.assemble(settings), select=parts.tuned(AdaSample(cold="average"), settings), needs=frozenset({"links"})
    )
