"""FedACG: FedAvg whose clients start from where the server's momentum is about to carry the model.

Kim, Kim, Han, "Communication-efficient federated learning with accelerated client gradient", CVPR 2024. Its second
part, a penalty on leaving the starting point, is `method.train.proximal`.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {
    **parts.PLAIN,
    "method.aggregate.lookahead": True,
    "method.aggregate.momentum": 0.85,
    "method.train.proximal": 0.01,
}


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=Uniform())
