"""Deep gradient compression: one coordinate in a hundred, momentum corrected and masked, with a warm-up.

Lin, Han, Mao, Wang, Dally, "Deep gradient compression: Reducing the communication bandwidth for distributed
training", ICLR 2018. A round takes the place of a step; the warm-up is five rounds. The momentum of 0.9 grows stale
while a client is not selected. It starts slowly: above 80 % on MNIST after 10 rounds.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {
    **parts.SPARSE,
    "method.allocate.average": 0.01,
    "method.allocate.warmup": "ramp",
    "method.allocate.warmup_rounds": 5,
    "method.compress.memory": "momentum",
    "method.aggregate.weights": "uniform",
}


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=Uniform())
