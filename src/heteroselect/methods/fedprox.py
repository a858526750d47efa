"""FedProx: FedAvg with a pull μ towards the global model.

Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith, "Federated optimization in heterogeneous networks", MLSys 2020.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {**parts.PLAIN, "method.train.proximal": 0.1}


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=Uniform())
