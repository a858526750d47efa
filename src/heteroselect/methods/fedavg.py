"""FedAvg: uniform clients, plain SGD, everything sent, weighed by data.

McMahan, Moore, Ramage, Hampson, Agüera y Arcas, "Communication-efficient learning of deep networks from
decentralized data", AISTATS 2017.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = dict(parts.PLAIN)


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=Uniform())
