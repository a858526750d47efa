"""FedPAQ: uniform clients, updates quantised without bias.

Reisizadeh, Mokhtari, Hassani, Jadbabaie, Pedarsani, "FedPAQ: A communication-efficient federated learning method
with periodic averaging and quantization", AISTATS 2020. = uniform selection + QSGD + plain mean, without a memory.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {
    **parts.PLAIN,
    "method.compress.kind": "qsgd",
    "method.compress.qsgd_levels": 10,
    "method.aggregate.weights": "uniform",
}


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=Uniform())
