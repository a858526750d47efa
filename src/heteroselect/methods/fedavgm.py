"""FedAvgM: FedAvg with momentum at the server.

Hsu, Qi, Brown, "Measuring the effects of non-identical data distribution for federated visual classification", 2019.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {**parts.PLAIN, "method.aggregate.momentum": 0.9}


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=Uniform())
